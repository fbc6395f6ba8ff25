//! Collection through a proxy that the environment or the settings name.

use std::net::SocketAddr;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::{Doubles, Folder, assert_stored, quick};

/// A proxy on loopback with a password. It connects to the requested port of this machine, whatever the host is.
struct Proxy {
    at: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(lead(stream, Arc::clone(&shared)));
            }
        });
        Self { at, heads }
    }
}

async fn lead(mut stream: TcpStream, heads: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    heads.lock().unwrap().push(head.clone());
    // "me:hunter2"
    let answer = if !head.contains("Proxy-Authorization: Basic bWU6aHVudGVyMg==\r\n") {
        "407 Proxy Authentication Required"
    } else if !head.starts_with("CONNECT ") {
        "405 Method Not Allowed"
    } else {
        "200 Connection established"
    };
    let answered = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(answered.as_bytes()).await.unwrap();
    if answer.starts_with("200") {
        let authority = head.split(' ').nth(1).unwrap();
        let port: u16 = authority.rsplit_once(':').unwrap().1.parse().unwrap();
        let mut target = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let _ = copy_bidirectional(&mut stream, &mut target).await;
    }
}

/// A SOCKS proxy on loopback with a password, which connects to this machine as the other one does.
async fn socks() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let hosts = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&hosts);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                // A refused client hangs up.
                let _ = lead_by_socks(stream, shared).await;
            });
        }
    });
    (at, hosts)
}

async fn counted(stream: &mut TcpStream) -> std::io::Result<String> {
    let length = stream.read_u8().await?;
    let mut text = vec![0; usize::from(length)];
    stream.read_exact(&mut text).await?;
    Ok(String::from_utf8(text).unwrap())
}

async fn lead_by_socks(
    mut stream: TcpStream,
    hosts: Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    assert_eq!(stream.read_u8().await?, 5);
    let methods = counted(&mut stream).await?;
    assert!(methods.contains('\u{2}'), "a password is offered");
    stream.write_all(&[5, 2]).await?;
    assert_eq!(stream.read_u8().await?, 1);
    let (user, password) = (counted(&mut stream).await?, counted(&mut stream).await?);
    let is_known = (user.as_str(), password.as_str()) == ("me", "hunter2");
    stream.write_all(&[1, u8::from(!is_known)]).await?;
    // Connect to a host that has a name.
    let mut request = [0; 4];
    stream.read_exact(&mut request).await?;
    assert_eq!(request, [5, 1, 0, 3]);
    let host = counted(&mut stream).await?;
    let port = stream.read_u16().await?;
    hosts.lock().unwrap().push(host);
    let mut target = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    copy_bidirectional(&mut stream, &mut target).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_use_a_socks_proxy_of_the_environment() {
    let (at, hosts) = socks().await;
    let address = format!("socks5h://me:hunter2@{at}");
    in_a_process("proxy::an_exchange_behind_a_proxy", "ALL_PROXY", address).await;
    let hosts = hosts.lock().unwrap();
    assert!(!hosts.is_empty() && hosts.iter().all(|host| host == "venue.example"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_may_have_its_own_proxy_for_connections_and_requests() {
    let (at, hosts) = socks().await;
    let http = Proxy::open().await;
    let folder = Folder::new();
    let doubles = Doubles::on_loopback(&["bitget", "okx"]).await;
    let mut plan = plan(&doubles, &["socket", "rest"]);
    for (venue, reach) in &mut plan.settings.exchanges {
        reach.proxy = Some(match venue.as_str() {
            "okx" => format!("socks5h://me:hunter2@{at}"),
            // Plain requests are not tunnelled by it.
            _ => format!("http://me:hunter2@{}", http.at),
        });
        if venue == "bitget" {
            let near = doubles.of("bitget").rest();
            reach.hosts.insert("rest".to_owned(), near);
        }
    }
    assert!(!format!("{plan:?}").contains("hunter2"));
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    let mut happened = doubles.of("okx").liquidate(10);
    happened.extend(doubles.of("bitget").liquidate(10));
    // Those of okx have no price without its markets, which are requested by REST.
    collecting.until_stored(happened.len()).await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
    assert!(hosts.lock().unwrap().len() >= 2);
    let heads = http.heads.lock().unwrap();
    assert!(
        heads
            .iter()
            .all(|head| head.starts_with("CONNECT venue.example:"))
    );
    assert!(!heads.is_empty());
}

/// Runs the ignored test `name` in a process of its own with `variable` set to `proxy`.
async fn in_a_process(name: &'static str, variable: &'static str, proxy: String) -> Output {
    in_a_process_with(name, vec![(variable, proxy)]).await
}

/// The same with several variables.
async fn in_a_process_with(name: &'static str, variables: Vec<(&'static str, String)>) -> Output {
    let run = move || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        for other in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
            command.env_remove(other);
            command.env_remove(other.to_lowercase());
        }
        command.args([name, "--exact", "--ignored", "--nocapture"]);
        command.envs(variables).output().unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{output:?}"
    );
    output
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_use_the_proxy_of_the_environment_except_on_loopback() {
    let proxy = Proxy::open().await;
    let address = format!("http://me:hunter2@{}", proxy.at);
    in_a_process("proxy::an_exchange_behind_a_proxy", "all_proxy", address).await;
    let heads = proxy.heads.lock().unwrap();
    assert!(!heads.is_empty());
    for head in &*heads {
        assert!(head.starts_with("CONNECT venue.example:"), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_proxy_is_used_if_the_environment_or_the_settings_exclude_it() {
    let proxy = Proxy::open().await;
    let address = ("ALL_PROXY", format!("http://me:hunter2@{}", proxy.at));
    let unless = ("NO_PROXY", "other.example, 0.0.0.0".to_owned());
    let near = "proxy::an_exchange_on_this_machine";
    in_a_process_with(near, vec![address.clone(), unless]).await;
    let none = "proxy::an_exchange_without_a_proxy";
    in_a_process_with(none, vec![address.clone()]).await;
    assert!(proxy.heads.lock().unwrap().is_empty());
    // Without either the same goes through it.
    let unless = ("NO_PROXY", "other.example".to_owned());
    in_a_process_with(near, vec![address, unless]).await;
    let heads = proxy.heads.lock().unwrap();
    assert!(!heads.is_empty());
    let is_led = |head: &String| head.starts_with("CONNECT 0.0.0.0:");
    assert!(heads.iter().all(is_led), "{heads:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusing_proxy_is_named_with_its_variable_and_without_its_password() {
    let proxy = Proxy::open().await;
    let address = format!("http://me:hunter3@{}", proxy.at);
    in_a_process(
        "proxy::an_exchange_behind_a_refusing_proxy",
        "HTTP_PROXY",
        address,
    )
    .await;
    assert!(!proxy.heads.lock().unwrap().is_empty());
    drop(proxy);
    let unused_port = "http://me:hunter3@127.0.0.1:9".to_owned();
    in_a_process(
        "proxy::an_exchange_behind_a_refusing_proxy",
        "HTTP_PROXY",
        unused_port,
    )
    .await;
}

/// A plan in which the named hosts of a venue are far away.
fn plan(doubles: &Doubles, far: &[&str]) -> liqdata::collect::CollectPlan {
    let mut plan = doubles.plan(quick());
    for (venue, reach) in &mut plan.settings.exchanges {
        let exchange = doubles.of(venue);
        for host in far {
            let address = if *host == "socket" {
                exchange.ws()
            } else {
                exchange.rest()
            };
            let address = address.replace("127.0.0.1", "venue.example");
            reach.hosts.insert((*host).to_owned(), address);
        }
    }
    plan
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by others in a process of its own"]
async fn an_exchange_behind_a_proxy() {
    let folder = Folder::new();
    let doubles = Doubles::on_loopback(&["okx"]).await;
    // The markets are requested on loopback, past every proxy.
    let plan = plan(&doubles, &["socket"]);
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    let happened = doubles.of("okx").liquidate(20);
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

/// Collects from a socket at an address of this machine that is not taken for loopback.
async fn collects_through(proxy: Option<&str>) {
    let folder = Folder::new();
    let doubles = Doubles::on_loopback(&["okx"]).await;
    let mut plan = plan(&doubles, &["socket"]);
    for reach in plan.settings.exchanges.values_mut() {
        let socket = reach.hosts.get_mut("socket").unwrap();
        *socket = socket.replace("venue.example", "0.0.0.0");
        reach.proxy = proxy.map(str::to_owned);
    }
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    let happened = doubles.of("okx").liquidate(5);
    collecting.until_stored(happened.len()).await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by others in a process of its own"]
async fn an_exchange_on_this_machine() {
    collects_through(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by others in a process of its own"]
async fn an_exchange_without_a_proxy() {
    collects_through(Some("")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by others in a process of its own"]
async fn an_exchange_behind_a_refusing_proxy() {
    let proxy = std::env::var("HTTP_PROXY").unwrap();
    let named = format!(
        "the proxy http://{} (HTTP_PROXY)",
        proxy.rsplit_once('@').unwrap().1
    );
    for far in [&["socket"], &["rest"]] {
        let folder = Folder::new();
        let doubles = Doubles::on_loopback(&["okx"]).await;
        let collecting = doubles.collect(&folder.archive(), &plan(&doubles, far));
        let is_named = |status: &liqdata::collect::VenueStatus| {
            let trouble = status.trouble.as_deref().unwrap_or_default();
            assert!(!trouble.contains("hunter"), "{trouble}");
            trouble.contains(&format!("through {named}"))
        };
        collecting
            .until_of("okx", "the proxy is named", is_named)
            .await;
        collecting.stop().await;
    }
}
