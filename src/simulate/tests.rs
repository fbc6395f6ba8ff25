use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::coins::count;
use super::*;
use crate::model::{coin_of_pair, nearest_f64};

/// The instant lies inside a bar, so the test covers rounding the end down to a bar.
const NOW: Millis = Millis(1_781_136_123_456);
const END: Millis = Millis(1_781_136_000_000);

static HISTORIES: LazyLock<Vec<CoinSimulation>> =
    LazyLock::new(|| live(Habits::default(), 7, END, 0, &|| true));
static MARKET: LazyLock<Simulation> = LazyLock::new(|| observed(&HISTORIES, NOW));

fn bars(coin: &str) -> Vec<&'static ObservedBar> {
    MARKET
        .bars
        .iter()
        .filter(|bar| bar.symbol == coin)
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_market_and_another_seed_another() {
    assert!(*MARKET == simulate(7, NOW));
    let other = simulate(8, NOW);
    assert!(MARKET.bars != other.bars);
    assert!(MARKET.orders != other.orders);
    assert!(MARKET.positions != other.positions);
}

#[test]
fn every_coin_has_thirty_days_of_bars_that_end_at_now() {
    assert_eq!(MARKET.bars.len(), COINS.len() * BARS);
    for coin in COINS {
        let bars = bars(coin.symbol);
        assert_eq!(bars.len(), 8640);
        assert_eq!(bars[8639].timestamp.on(INTERVAL), END);
        for pair in bars.windows(2) {
            assert_eq!(pair[0].timestamp.on(INTERVAL), pair[1].timestamp);
            assert_eq!(pair[0].close.to_bits(), pair[1].open.to_bits());
        }
        for bar in bars {
            assert!(bar.low > 0.0 && bar.low <= bar.open.min(bar.close));
            assert!(bar.high >= bar.open.max(bar.close));
            assert!(bar.volume > 0.0);
            for price in [bar.open, bar.high, bar.low, bar.close] {
                assert_eq!(coin.price(coin.ticks(price)).to_bits(), price.to_bits());
            }
        }
    }
}

#[test]
fn open_interest_is_what_the_positions_of_either_side_sum_to() {
    for coin in COINS {
        let read: f64 = MARKET
            .open_interest
            .iter()
            .filter(|row| row.symbol == coin.symbol && row.timestamp == END)
            .map(|row| row.open_interest)
            .sum();
        assert!(read > 0.0);
        for side in [Side::Long, Side::Short] {
            let open_lots: f64 = MARKET
                .positions
                .iter()
                .filter(|position| position.symbol == coin.symbol && position.side == side)
                .map(|position| position.qty)
                .sum();
            assert!(
                (open_lots / read - 1.0).abs() < 1e-9,
                "{} {side} {open_lots} {read}",
                coin.symbol
            );
        }
    }
}

#[test]
fn open_interest_is_read_on_every_venue_at_every_close() {
    let expected = COINS.len() * (BARS + 1) * VENUES.len();
    assert_eq!(MARKET.open_interest.len(), expected);
    let keys: BTreeSet<_> = MARKET
        .open_interest
        .iter()
        .map(|row| (&row.symbol, &row.exchange, row.timestamp))
        .collect();
    assert_eq!(keys.len(), expected);
    assert!(
        MARKET
            .open_interest
            .iter()
            .all(|row| row.open_interest > 0.0)
    );
}

#[test]
fn bitcoin_has_tens_of_thousands_of_open_interest() {
    for time in [END, END.back(20 * Millis::DAY), END.back(30 * Millis::DAY)] {
        let total: f64 = MARKET
            .open_interest
            .iter()
            .filter(|row| row.symbol == "BTC" && row.timestamp == time)
            .map(|row| row.open_interest)
            .sum();
        assert!((15_000.0..150_000.0).contains(&total), "{total}");
    }
}

#[test]
fn no_open_position_was_crossed_since_it_was_opened() {
    for history in HISTORIES.iter() {
        // Lowest low and highest high from each bar to the last bar.
        let mut extremes = vec![(f64::INFINITY, 0.0_f64)];
        for bar in history.bars.iter().rev() {
            let (low, high) = extremes[extremes.len() - 1];
            extremes.push((bar.low.min(low), bar.high.max(high)));
        }
        extremes.reverse();
        let mut checked = 0;
        for open in history.book.open() {
            let after = history
                .bars
                .partition_point(|bar| bar.open_time <= open.opened);
            let (low, high) = extremes[after];
            match open.terms.side {
                Side::Long => assert!(open.terms.liquidation < low),
                Side::Short => assert!(open.terms.liquidation > high),
            }
            checked += usize::from(after < history.bars.len());
        }
        assert!(checked > 100, "{} {checked}", history.coin.symbol);
    }
}

#[test]
fn longs_are_liquidated_below_the_last_close_and_shorts_above() {
    for coin in COINS {
        let close = bars(coin.symbol)[BARS - 1].close;
        for position in MARKET
            .positions
            .iter()
            .filter(|position| position.symbol == coin.symbol)
        {
            assert!((2.0..=125.0).contains(&position.leverage));
            assert!(position.liquidation_price > 0.0 && position.qty > 0.0);
            match position.side {
                Side::Long => assert!(position.liquidation_price < close),
                Side::Short => assert!(position.liquidation_price > close),
            }
        }
    }
}

#[test]
fn an_order_is_filled_inside_its_bar_and_worth_price_times_quantity() {
    for row in &MARKET.orders {
        let order = &row.order;
        let (coin, scale) = coin_of_pair(&order.symbol);
        assert_eq!(row.coin.as_deref(), Some(coin.as_str()));
        let all = bars(&coin);
        let place = all.partition_point(|bar| bar.timestamp < order.timestamp);
        let bar = all[place - 1];
        assert!(bar.timestamp < order.timestamp && order.timestamp < bar.timestamp.on(INTERVAL));
        let price = nearest_f64(order.price / Decimal::from(scale));
        assert!(
            bar.low <= price && price <= bar.high,
            "{order:?} outside {bar:?}"
        );
        assert!(order.qty > Decimal::ZERO);
        assert_eq!(order.price * order.qty, order.value_usd);
        assert!(order.value_usd.scale() <= 12);
    }
}

#[test]
fn the_orders_are_those_of_the_last_day_and_none_is_missing() {
    let since = NOW.back(Millis::DAY);
    let times = || MARKET.orders.iter().map(|row| row.order.timestamp);
    assert!(times().all(|time| since < time && time < END));
    assert!(times().is_sorted());
    for history in HISTORIES.iter() {
        let coin = history.coin.symbol;
        let liquidated: i64 = history
            .liquidations
            .iter()
            .filter(|liquidation| liquidation.time > since)
            .map(|liquidation| liquidation.lots)
            .sum();
        let published: Decimal = MARKET
            .orders
            .iter()
            .filter(|row| row.coin.as_deref() == Some(coin))
            .map(|row| row.order.qty * Decimal::from(coin_of_pair(&row.order.symbol).1))
            .sum();
        let liquidated = history.coin.quantity(liquidated);
        assert!((nearest_f64(published) / liquidated - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_liquidation_happens_in_the_bar_in_which_the_mark_price_reaches_its_trigger() {
    for history in HISTORIES.iter() {
        assert!(history.liquidations.len() > 500);
        for liquidation in &history.liquidations {
            let place = history
                .bars
                .partition_point(|bar| bar.open_time < liquidation.time);
            let bar = history.bars[place - 1];
            assert!(bar.low <= liquidation.trigger && liquidation.trigger <= bar.high);
            assert!(bar.volume >= history.coin.quantity(liquidation.lots));
        }
    }
}

#[test]
fn there_are_thousands_of_orders_most_of_bitcoin_on_every_venue_and_of_both_sides() {
    assert!((3_000..60_000).contains(&MARKET.orders.len()));
    let usd = |coin: &str| -> Decimal {
        let rows = MARKET.orders.iter();
        rows.filter(|row| row.coin.as_deref() == Some(coin))
            .map(|row| row.order.value_usd)
            .sum()
    };
    for coin in &COINS[2..] {
        assert!(Decimal::ZERO < usd(coin.symbol) && usd(coin.symbol) < usd("BTC"));
    }
    let kinds: BTreeSet<_> = MARKET
        .orders
        .iter()
        .map(|row| (row.order.exchange.as_str(), row.order.side))
        .collect();
    assert_eq!(kinds.len(), 2 * VENUES.len());
    let pairs: BTreeSet<_> = MARKET
        .orders
        .iter()
        .map(|row| row.order.symbol.as_str())
        .collect();
    assert!(pairs.contains("1000PEPEUSDT") && pairs.contains("PEPEUSDT"));
}

#[test]
fn some_rows_are_equal_and_yet_two_orders() {
    let mut seen = std::collections::HashSet::new();
    let repeated = MARKET
        .orders
        .iter()
        .filter(|row| {
            let order = &row.order;
            !seen.insert((&order.exchange, &order.symbol, order.timestamp, order.qty))
        })
        .count();
    assert!(
        repeated > 0 && repeated * 4 < MARKET.orders.len(),
        "{repeated}"
    );
}

#[test]
fn liquidations_come_in_clusters_of_time() {
    // Liquidations cluster: their number per bar varies far more than that of independent events.
    for history in HISTORIES.iter() {
        let mut counts = vec![0.0_f64; BARS];
        for liquidation in &history.liquidations {
            let place = history
                .bars
                .partition_point(|bar| bar.open_time < liquidation.time);
            counts[place - 1] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / count(BARS as i64);
        let variance =
            counts.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / count(BARS as i64);
        assert!(
            variance > 3.0 * mean,
            "{} {mean} {variance}",
            history.coin.symbol
        );
    }
}

#[test]
fn true_positions_stand_in_clusters_away_from_the_price() {
    for history in HISTORIES.iter() {
        let close = history.bars[BARS - 1].close;
        let mut mass = [[0.0_f64; 30]; 2];
        for open in history.book.open() {
            let distance = (open.terms.liquidation / close - 1.0).abs();
            let place = usize::try_from(nearest((distance * 200.0).floor())).unwrap();
            if place < 30 {
                mass[open.terms.side.index()][place] += history.coin.quantity(open.terms.lots);
            }
        }
        for bins in mass {
            let mean = bins.iter().sum::<f64>() / 30.0;
            assert!(bins.iter().copied().fold(0.0, f64::max) > 2.0 * mean);
            assert!(bins[0] < mean, "what stands at the price is swept at once");
        }
    }
}

#[test]
fn before_1970_bars_lie_on_five_minutes_too() {
    let market = simulate(1, Millis(-1));
    let last = market.bars.last().unwrap();
    assert_eq!(last.timestamp, Millis(-2 * INTERVAL));
}

#[test]
#[ignore = "prints the shape of a market and the time it takes; run with --release --nocapture"]
#[expect(clippy::print_stdout, reason = "its purpose")]
fn a_market_described() {
    let began = std::time::Instant::now();
    let market = std::hint::black_box(simulate(0, NOW));
    println!("built in {:?}", began.elapsed());
    for seed in 0..3 {
        for history in live(Habits::default(), seed, END, 0, &|| true) {
            describe(&history);
        }
    }
    println!(
        "{} orders, {} positions",
        market.orders.len(),
        market.positions.len()
    );
}

#[expect(clippy::print_stdout, reason = "its purpose")]
fn describe(history: &CoinSimulation) {
    let coin = history.coin;
    let bars = &history.bars;
    let close = bars[BARS - 1].close;
    let low = bars.iter().map(|bar| bar.low).fold(f64::INFINITY, f64::min);
    let high = bars.iter().map(|bar| bar.high).fold(0.0, f64::max);
    let returns: f64 = bars
        .windows(288)
        .step_by(288)
        .map(|day| (day[287].close / day[0].open).ln().powi(2))
        .sum();
    let day: Vec<_> = history
        .liquidations
        .iter()
        .filter(|liquidation| liquidation.time > END.back(Millis::DAY))
        .collect();
    let usd: f64 = day.iter().map(|l| coin.quantity(l.lots) * close).sum();
    let largest = day.iter().map(|l| l.lots).max().unwrap_or(0);
    let oi = |place: usize| history.open_interest[place].iter().sum::<i64>();
    let volume: f64 = bars[BARS - 288..].iter().map(|bar| bar.volume).sum();
    println!(
        "{:5} {:.6} [{:.6} {:.6}] day sd {:.4} OI {:.0} -> {:.0} ({:.2e} USD) volume/OI {:.2} liq 30d {} 24h {} = {:.2e} USD, largest {:.2e}, open {}",
        coin.symbol,
        close,
        low,
        high,
        (returns / 30.0).sqrt(),
        coin.quantity(oi(0)),
        coin.quantity(oi(BARS)),
        coin.quantity(oi(BARS)) * close,
        volume / coin.quantity(oi(BARS)),
        history.liquidations.len(),
        day.len(),
        usd,
        coin.quantity(largest) * close,
        history.book.open().count(),
    );
    // Size of the open positions in million USD, by distance of the liquidation price from the close in percent.
    let mut mass = [0.0; 40];
    for open in history.book.open() {
        let distance = 100.0 * (open.terms.liquidation / close - 1.0);
        if let Ok(place) = usize::try_from(nearest((distance + 20.0).floor()))
            && place < 40
        {
            mass[place] += coin.quantity(open.terms.lots) * close / 1e6;
        }
    }
    println!("      {}", mass.map(|usd| format!("{usd:.0}")).join(" "));
}
