//! Tests how the service reports damaged files of its archive.

use std::path::PathBuf;

use super::ready::{Folder, plain, recorded};
use super::*;
use crate::archive::Archive;
use crate::server::answers::response::DAMAGED;
use crate::server::tests::caching::text;

const DAYS: i64 = 3;

/// Creates an archive of three days with one file per day; returns the files, oldest first.
fn rolled(folder: &Folder) -> Vec<PathBuf> {
    let mut writer = Archive::create_or_open(&folder.0).unwrap();
    for day in 0..DAYS {
        let minutes = (day - DAYS + 1) * 24 * 60;
        writer
            .append(&recorded(u32::try_from(day).unwrap(), minutes))
            .unwrap();
    }
    let mut parts = writer.compact(NOW.on(Millis::DAY)).unwrap().parts;
    assert_eq!(parts.len(), 3);
    parts.sort();
    parts
}

async fn readiness(service: &Router) -> Value {
    let (status, _, body) = plain(service, "/ready").await;
    assert_eq!(status, StatusCode::OK);
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn a_newest_day_cut_short_is_marked_in_every_answer_and_a_gap() {
    let folder = Folder::new("cut-short");
    let parts = rolled(&folder);
    let whole = std::fs::read(&parts[2]).unwrap();
    std::fs::write(&parts[2], &whole[..whole.len() / 2]).unwrap();
    let market = Market::open(&folder.0, None).unwrap();
    let service = routes(PageState::new(Arc::new(market)));
    for uri in [
        "/api/liquidations/overview",
        "/api/liquidations/overview",
        "/api/liquidations/exchanges?range=1h&explain=1",
        "/api/liquidations",
        "/health",
        "/api",
        "/nope",
    ] {
        let (_, headers, _) = plain(&service, uri).await;
        assert_eq!(text(&headers, &DAMAGED), "1", "{uri}");
    }
    let (_, _, body) = plain(&service, "/api/liquidations/overview?explain=1").await;
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        answer["explain"]["coverage"][0]["gaps"],
        json!(1),
        "{answer}"
    );
    let said = readiness(&service).await;
    let [file] = said["damaged"].as_array().unwrap().as_slice() else {
        panic!("{said}");
    };
    assert_eq!(
        (&file["holds"], &file["rows"]),
        (&json!("orders"), &json!(1))
    );
    let reason = file["reason"].as_str().unwrap();
    assert!(reason.contains("bytes, but was written with"), "{reason}");
    let path = folder.0.display().to_string();
    assert!(!said.to_string().contains(&path), "{said}");
}

#[tokio::test]
async fn a_service_is_ready_again_once_a_deleted_journal_is_replaced() {
    let folder = Folder::new("replaced");
    rolled(&folder);
    let market = Arc::new(Market::open(&folder.0, None).unwrap());
    let service = routes(PageState::new(market));
    readiness(&service).await;
    let overview = "/api/liquidations/overview";
    let before = plain(&service, overview).await.2;
    let journal = folder.0.join("journal.sqlite");
    let content = std::fs::read(&journal).unwrap();
    std::fs::remove_file(&journal).unwrap();
    for _ in 0..2 {
        assert_eq!(
            plain(&service, "/ready").await.0,
            StatusCode::SERVICE_UNAVAILABLE
        );
        assert_eq!(plain(&service, "/health").await.0, StatusCode::OK);
    }
    // Half of a journal is not a valid journal.
    std::fs::write(&journal, &content[..content.len() / 2]).unwrap();
    assert_eq!(
        plain(&service, "/ready").await.0,
        StatusCode::SERVICE_UNAVAILABLE
    );
    std::fs::remove_file(&journal).unwrap();
    std::fs::write(&journal, &content).unwrap();
    readiness(&service).await;
    let again = plain(&service, overview).await;
    assert_eq!((again.0, again.2), (StatusCode::OK, before));
}

#[tokio::test]
async fn a_journal_that_is_damaged_under_a_service_marks_every_answer_until_it_is_whole_again() {
    let folder = Folder::new("damaged-journal");
    rolled(&folder);
    let market = Arc::new(Market::open(&folder.0, None).unwrap());
    let service = routes(PageState::new(Arc::clone(&market)));
    let uris = [
        "/api/liquidations/overview",
        "/api/liquidations",
        "/api/coverage",
        "/api",
        "/health",
        "/ready",
        "/nope",
    ];
    for uri in uris {
        assert!(!plain(&service, uri).await.1.contains_key(DAMAGED), "{uri}");
    }
    let before = plain(&service, uris[0]).await.2;
    let journal = folder.0.join("journal.sqlite");
    let content = std::fs::read(&journal).unwrap();
    let mut damaged = content.clone();
    damaged[4096..].fill(0);
    std::fs::write(&journal, damaged).unwrap();
    // The query as of the previous day must read a file that has not been read yet.
    let past = format!("{}?as_of={}", uris[0], NOW.back(Millis::DAY).0);
    plain(&service, &past).await;
    for uri in uris {
        assert_eq!(text(&plain(&service, uri).await.1, &DAMAGED), "1", "{uri}");
    }
    let (status, _, body) = plain(&service, "/ready").await;
    if status == StatusCode::OK {
        let said: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(said["damaged"][0]["holds"], json!("journal"), "{said}");
    } else {
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    }
    let copy = folder.0.join("copy");
    std::fs::write(&copy, content).unwrap();
    std::fs::rename(&copy, &journal).unwrap();
    assert_eq!(readiness(&service).await["damaged"], json!([]));
    let again = plain(&service, uris[0]).await;
    assert!(!again.1.contains_key(DAMAGED));
    assert_eq!((again.0, again.2), (StatusCode::OK, before));
}

#[tokio::test]
async fn what_a_question_finds_damaged_of_the_journal_is_counted_at_once() {
    let folder = Folder::new("journal-met");
    rolled(&folder);
    let market = Arc::new(Market::open(&folder.0, None).unwrap());
    let state = crate::server::metrics::market_state::LastState::default();
    assert_eq!(state.last(&market).await.unwrap().damaged, 0);
    let journal = folder.0.join("journal.sqlite");
    let mut damaged = std::fs::read(&journal).unwrap();
    damaged[4096..].fill(0);
    std::fs::write(&journal, damaged).unwrap();
    let service = routes(PageState::new(Arc::clone(&market)));
    let overview = "/api/liquidations/overview";
    assert_eq!(plain(&service, overview).await.0, StatusCode::OK);
    // The query as of the previous day must read a file that has not been read yet.
    let past = format!("{overview}?as_of={}", NOW.back(Millis::DAY).0);
    let refused = plain(&service, &past).await;
    assert_eq!(refused.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(text(&refused.1, &DAMAGED), "1");
    assert_eq!(text(&plain(&service, overview).await.1, &DAMAGED), "1");
    assert_eq!(state.last(&market).await.unwrap().damaged, 1);
}
