//! Powers of ten as integers and as doubles.

/// The powers of ten that fit in 64 bits.
pub const POWERS_OF_TEN: [u64; 20] = {
    let mut powers = [1; 20];
    let mut exponent = 1;
    while exponent < powers.len() {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            powers[exponent] = powers[exponent - 1] * 10;
        }
        exponent += 1;
    }
    powers
};

/// The powers of ten that a double represents exactly.
pub const POWERS_OF_TEN_F64: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Ten to the power of `exponent`; `None` beyond 127 bits.
#[inline]
#[must_use]
pub const fn power_of_ten(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}
