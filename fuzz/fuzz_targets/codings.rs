#![no_main]

liqdata_fuzz::target!("codings");
