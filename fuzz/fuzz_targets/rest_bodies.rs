#![no_main]

liqdata_fuzz::target!("rest_bodies");
