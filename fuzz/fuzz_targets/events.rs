#![no_main]

liqdata_fuzz::target!("events");
