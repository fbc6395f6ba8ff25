//! Orders that the exchanges do not distinguish: equal rows of a second, matches of one instant, the same amount twice.

use crate::bench::{Doubles, Folder, orders, quick};
use crate::doubles::{Act, Ending};

#[tokio::test(start_paused = true)]
async fn equal_orders_of_gate_in_one_second_are_all_stored_once() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["gate"]));
    let gate = doubles.of("gate");
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let second = gate.book().now() / 1000 * 1000;
    let mut happened = gate.imagine_of("BTC_USDT", [second + 100]);
    for millis in [101, 555] {
        let mut equal = happened[0].clone();
        equal.time = second + millis;
        happened.push(equal);
    }
    // Each in a frame of its own.
    for truth in &happened {
        gate.publish(std::slice::from_ref(truth));
    }
    collecting.until_stored(3).await;
    let before = collecting.of("gate");
    gate.act(Act::Disconnect(Ending::Close));
    collecting
        .until_of("gate", "all three were sent again", |one| {
            one.repeated >= before.repeated + 3
        })
        .await;
    collecting.stop().await;
    assert_eq!(orders(&folder.archive()).len(), 3);
    // Nothing is remembered by a new process.
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting
        .until("it was sent again", |status| status.repeated >= 3)
        .await;
    collecting.stop().await;
    assert_eq!(orders(&folder.archive()).len(), 3);
}

fn row(at: i64, amount: &str, is_match: u8, price: &str) -> String {
    format!(r#"["pos",7,{at},null,"tBTCF0:USTF0",{amount},41000,null,{is_match},1,null,{price}]"#)
}

#[tokio::test(start_paused = true)]
async fn matches_of_bitfinex_in_one_instant_are_all_stored_and_an_amount_only_once() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bitfinex"]));
    let bitfinex = doubles.of("bitfinex");
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let now = bitfinex.book().now();
    let say = |rows: &[String]| {
        bitfinex.say(&format!("[386841,[{}]]", rows.join(",")));
    };
    let matches = [row(now, "0.5", 1, "42735"), row(now, "0.25", 1, "42730")];
    say(&[row(now - 9, "0.75", 0, "null")]);
    say(&matches);
    // The other way round, as a body has them.
    say(&[matches[1].clone(), matches[0].clone()]);
    collecting.until_stored(2).await;
    // The whole position, and the sold part of it, in one amount.
    let other = |row: String| row.replace(r#""pos",7"#, r#""pos",8"#);
    say(&[other(row(now, "0.0392", 0, "null"))]);
    say(&[other(row(now + 1, "0.0392", 1, "42735"))]);
    say(&[other(row(now + 5, "0.03908247", 1, "42735"))]);
    let status = collecting
        .until_of("bitfinex", "it is found to be the same", |one| {
            one.quarantined == 1
        })
        .await;
    assert_eq!((status.events, status.rejected), (3, 0), "{status:?}");
    collecting.until_stored(3).await;
    collecting.stop().await;
    let mut stored: Vec<String> = orders(&folder.archive())
        .iter()
        .map(|row| row.order.qty.normalize().to_string())
        .collect();
    stored.sort();
    assert_eq!(stored, ["0.0392", "0.25", "0.5"]);
}
