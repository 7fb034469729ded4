//! RFC 3339 date-times, as milliseconds since 1970-01-01T00:00:00Z.

/// Reads `text`. `None` when it is no RFC 3339 date-time. A fraction is cut to milliseconds; a leap second counts as
/// the first instant of the next minute.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() < 20 || bytes[4] != b'-' || bytes[7] != b'-' || !matches!(bytes[10], b'T' | b't')
    {
        return None;
    }
    if bytes[13] != b':' || bytes[16] != b':' {
        return None;
    }
    let year = digits(&bytes[0..4])?;
    let month = digits(&bytes[5..7])?;
    let day = digits(&bytes[8..10])?;
    let hour = digits(&bytes[11..13])?;
    let minute = digits(&bytes[14..16])?;
    let second = digits(&bytes[17..19])?;
    if !(1..=12).contains(&month)
        || day < 1
        || day > days_in(year, month)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let mut rest = &bytes[19..];
    let mut millis = 0;
    if rest[0] == b'.' {
        let length = rest[1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if length == 0 {
            return None;
        }
        for place in 0..3 {
            millis = millis * 10
                + rest[1..=length]
                    .get(place)
                    .map_or(0, |byte| i64::from(byte - b'0'));
        }
        rest = &rest[1 + length..];
    }
    let offset = match rest {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), a, b, b':', c, d] => {
            let (hours, minutes) = (digits(&[*a, *b])?, digits(&[*c, *d])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return None,
    };
    let minutes = (days_from_epoch(year, month, day) * 24 + hour) * 60 + minute - offset;
    Some((minutes * 60 + second) * 1_000 + millis)
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + i64::from(byte - b'0'))
    })
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the date in the proleptic Gregorian calendar.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let to_year =
        before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let in_year: i64 = (1..month).map(|earlier| days_in(year, earlier)).sum();
    to_year + in_year + day - 1 - 719_162
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_instants() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2026-08-17T12:34:56.789Z"), Some(1_786_970_096_789));
        assert_eq!(
            parse("2026-08-17t14:34:56.7891234+02:00"),
            Some(1_786_970_096_789)
        );
        assert_eq!(parse("2000-02-29T23:59:60Z"), Some(951_868_800_000));
        assert_eq!(parse("1969-12-31T23:59:59.5-00:00"), Some(-500));
    }

    #[test]
    fn refuses_what_date_parse_would_take() {
        for text in [
            "",
            "2026",
            "2026-08-17",
            "2026-08-17 12:34:56Z",
            "2026-08-17T12:34:56",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-08-17T24:00:00Z",
            "2026-08-17T12:34:56.Z",
            "2026-08-17T12:34:56+2:00",
            "2026-08-17T12:34:56+0200",
            "Mon, 17 Aug 2026 12:34:56 GMT",
            "2026-08-17T12:34:56Zé",
            "+026-08-17T12:34:56Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
