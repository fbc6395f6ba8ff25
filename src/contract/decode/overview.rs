//! Decodes the liquidation totals of the last 1, 4, 12 and 24 hours.

use serde::Deserializer;

use super::reply::reply;
use super::token::{Read, object};
use crate::model::{TotalsByWindow, WindowTotals};

struct Windows {
    h1: Option<WindowTotals>,
    h4: Option<WindowTotals>,
    h12: Option<WindowTotals>,
    h24: Option<WindowTotals>,
}

object!(Windows, "an object keyed by window", { h1: "1h", h4: "4h", h12: "12h", h24: "24h" });

impl<'de> Read<'de> for TotalsByWindow {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Windows { h1, h4, h12, h24 } = Windows::read(from)?;
        Ok(Self {
            windows: [h1, h4, h12, h24],
        })
    }
}

reply!(TotalsByWindow);
