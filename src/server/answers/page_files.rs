//! The live page: a few files in the program itself. They contain no data, so they need no token.

use std::sync::OnceLock;

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use libdeflater::{CompressionLvl, Compressor};

use crate::server::answers::accept;
use crate::server::answers::response::sign;

/// The SHA-256 of every file, as the build of the page wrote them.
const SUMS: &str = include_str!("../../../web/dist/SHA256SUMS");

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
);
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");
const DENIED: HeaderValue = HeaderValue::from_static(
    "camera=(), geolocation=(), microphone=(), payment=(), usb=(), serial=(), hid=(), midi=()",
);

/// A file of the page.
struct PageFile {
    path: &'static str,
    name: &'static str,
    kind: &'static str,
    body: &'static [u8],
    packed: OnceLock<Bytes>,
}

macro_rules! files {
    ($($path:literal $name:literal $kind:literal),+ $(,)?) => {
        [$(PageFile {
            path: $path,
            name: $name,
            kind: $kind,
            body: include_bytes!(concat!("../../../web/dist/", $name)),
            packed: OnceLock::new(),
        }),+]
    };
}

static FILES: [PageFile; 7] = files![
    "/" "index.html" "text/html; charset=utf-8",
    "/docs" "docs.html" "text/html; charset=utf-8",
    "/app.js" "app.js" "text/javascript; charset=utf-8",
    "/docs.js" "docs.js" "text/javascript; charset=utf-8",
    "/app.css" "app.css" "text/css; charset=utf-8",
    "/icon.svg" "icon.svg" "image/svg+xml",
    "/THIRD-PARTY.txt" "THIRD-PARTY.txt" "text/plain; charset=utf-8",
];

impl PageFile {
    /// The checksum in hexadecimal digits.
    fn sum(&self) -> &'static str {
        SUMS.lines()
            .filter_map(|line| line.split_once("  "))
            .find_map(|(sum, name)| (name == self.name).then_some(sum))
            .unwrap_or_default()
    }

    /// The file in gzip, compressed once. `None` if that fails.
    fn packed(&self) -> Option<Bytes> {
        if let Some(packed) = self.packed.get() {
            return Some(packed.clone());
        }
        let mut compressor = Compressor::new(CompressionLvl::best());
        let mut packed = vec![0; compressor.gzip_compress_bound(self.body.len())];
        let length = compressor.gzip_compress(self.body, &mut packed).ok()?;
        packed.truncate(length);
        let packed = Bytes::from(packed);
        Some(self.packed.get_or_init(|| packed).clone())
    }
}

/// The files of the live page: path, content type and bytes.
pub fn page_files() -> impl Iterator<Item = (&'static str, &'static str, &'static [u8])> {
    FILES.iter().map(|file| (file.path, file.kind, file.body))
}

/// The response to a request for a file of the page. `None` if the request asks for something else, such as the list of
/// the endpoints: `/` is JSON for clients that prefer it.
pub(crate) fn page_file<B>(request: &Request<B>) -> Option<Response<Body>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return None;
    }
    let path = request.uri().path();
    let file = FILES.iter().find(|file| file.path == path)?;
    let headers = request.headers();
    if path == "/" && prefers_json(headers) {
        return None;
    }
    let packed = accepts_gzip(headers).then(|| file.packed()).flatten();
    let sum = file.sum();
    let form = if packed.is_some() { "-gzip" } else { "" };
    let tag = format!("\"{sum}{form}\"");
    let mut response = Response::default();
    let current = headers.get(IF_NONE_MATCH).is_some_and(|tags| {
        let tags = tags.to_str().unwrap_or_default();
        tags.split(',')
            .any(|one| one.trim() == tag || one.trim() == "*")
    });
    if current {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let named = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        named.insert(ETAG, tag);
    }
    // An address with the checksum never means another file.
    let versioned = request
        .uri()
        .query()
        .and_then(|query| query.strip_prefix("v="));
    let lasts = versioned.is_some_and(|version| version.len() >= 12 && sum.starts_with(version));
    named.insert(
        CACHE_CONTROL,
        HeaderValue::from_static(if lasts {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        }),
    );
    named.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
    named.insert(CONTENT_SECURITY_POLICY, POLICY);
    named.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    named.insert(OPENER, HeaderValue::from_static("same-origin"));
    named.insert(RESOURCE, HeaderValue::from_static("same-origin"));
    named.insert(PERMISSIONS, DENIED);
    sign(named);
    if !current {
        named.insert(CONTENT_TYPE, HeaderValue::from_static(file.kind));
        if packed.is_some() {
            named.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        *response.body_mut() = Body::from(packed.unwrap_or(Bytes::from_static(file.body)));
    }
    Some(response)
}

/// Whether `Accept` prefers JSON over HTML. Without the header, and for `*/*`, HTML is sent.
fn prefers_json(headers: &HeaderMap) -> bool {
    let ((json, named), (html, html_is_named)) = (
        accept::weight(headers, "application/json"),
        accept::weight(headers, "text/html"),
    );
    // What is named counts more than what is not.
    json > html || (named && !html_is_named && json >= html)
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter();
    lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .any(|coding| {
            let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
            let refused = matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
            name.trim().eq_ignore_ascii_case("gzip") && !refused
        })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fmt::Write as _;

    use sha2::{Digest, Sha256};

    use crate::server::answers::page_files::*;

    #[test]
    fn the_files_are_those_that_the_build_of_the_page_wrote() {
        for file in &FILES {
            let mut sum = String::new();
            for byte in Sha256::digest(file.body) {
                write!(sum, "{byte:02x}").unwrap();
            }
            assert_eq!(file.sum(), sum, "{}", file.name);
        }
    }

    fn ask(path: &str, headers: &[(&str, &str)]) -> Option<Response<Body>> {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        page_file(&request.body(()).unwrap())
    }

    #[test]
    fn the_root_is_html_unless_json_is_preferred() {
        for accept in [
            "*/*",
            "text/html,*/*;q=0.8",
            "application/json;q=0.5, text/html",
        ] {
            assert!(ask("/", &[("accept", accept)]).is_some(), "{accept}");
        }
        assert!(ask("/", &[]).is_some());
        for accept in [
            "application/json",
            "application/json, text/html;q=0.9",
            "application/json, */*",
        ] {
            assert!(ask("/", &[("accept", accept)]).is_none(), "{accept}");
        }
        assert!(ask("/api", &[]).is_none());
    }

    #[test]
    fn a_file_named_with_its_checksum_is_cached_for_ever() {
        let page = std::str::from_utf8(FILES[0].body).unwrap();
        let script = page
            .split('"')
            .find(|text| text.starts_with("app.js?v="))
            .unwrap();
        let response = ask(&format!("/{script}"), &[]).unwrap();
        assert!(
            response.headers()[CACHE_CONTROL]
                .to_str()
                .unwrap()
                .contains("immutable")
        );
        let other = ask("/app.js?v=000000000000", &[]).unwrap();
        assert_eq!(other.headers()[CACHE_CONTROL], "no-cache");
        let tag = other.headers()[ETAG].to_str().unwrap();
        let again = ask("/app.js", &[("if-none-match", tag)]).unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }
}
