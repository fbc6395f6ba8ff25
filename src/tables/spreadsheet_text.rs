//! Texts of CSV files that were written for spreadsheets.

/// Removes blanks around a text, and the apostrophe that keeps a spreadsheet from running it as a formula.
///
/// The command line writes the apostrophe before a text that begins with `=`, `+`, `-`, `@`, a tab or a line break, and
/// before such a text with apostrophes of its own. Other apostrophes belong to the text.
pub(crate) fn plain_text(text: &str) -> &str {
    let trimmed = text.trim();
    let Some(unmarked) = trimmed.strip_prefix('\'') else {
        return trimmed;
    };
    let begins_formula = unmarked
        .trim_start_matches('\'')
        .starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    if begins_formula { unmarked } else { trimmed }
}

#[cfg(test)]
mod tests {
    use crate::tables::spreadsheet_text::*;

    #[test]
    fn one_apostrophe_before_a_formula_is_removed() {
        for (written, text) in [
            ("'=1+1", "=1+1"),
            (" '@name ", "@name"),
            ("'-5", "-5"),
            ("''=1", "'=1"),
            ("'\tBTC", "\tBTC"),
            ("'BTC", "'BTC"),
            ("'", "'"),
            ("=1", "=1"),
            ("BTCUSDT", "BTCUSDT"),
        ] {
            assert_eq!(plain_text(written), text);
        }
    }
}
