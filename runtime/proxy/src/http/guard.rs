//! What is looked at before a request is read: where it thinks it goes, where it comes
//! from, and whose it is.

use crate::http::tokens::{ANYBODY, Tokens};
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};
use std::net::IpAddr;

/// Names of this machine for itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Which hosts, origins and tokens a request may come with.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    tokens: Tokens,
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Why a request is turned away.
pub(crate) type Refused = (StatusCode, &'static str);

impl Guard {
    /// For a gateway that listens at `address`.
    pub(crate) fn new(
        tokens: Tokens,
        address: IpAddr,
        hosts: &[String],
        origins: &[String],
    ) -> Self {
        let mut names: Vec<String> = LOOPBACK.iter().map(|&name| name.to_owned()).collect();
        match address {
            address if address.is_unspecified() => {}
            IpAddr::V4(address) => names.push(address.to_string()),
            IpAddr::V6(address) => names.push(format!("[{address}]")),
        }
        names.extend(hosts.iter().map(|host| host.to_ascii_lowercase()));
        let origins = origins.iter().map(|origin| origin.to_ascii_lowercase());
        Self {
            tokens,
            hosts: names,
            origins: origins.collect(),
        }
    }

    /// Whether a request may come from where it comes from, and go where it goes.
    pub(crate) fn place(&self, headers: &HeaderMap, target: Option<&str>) -> Result<(), Refused> {
        let host = only(headers, &HOST).ok_or((
            StatusCode::BAD_REQUEST,
            "the request needs one `Host` header",
        ))?;
        let known = |host: &str| {
            let name = without_port(host).to_ascii_lowercase();
            self.hosts.contains(&name)
        };
        if !known(host) || target.is_some_and(|target| !known(target)) {
            let why = "the gateway is not known under that host name: allow it with `--allow-host`";
            return Err((StatusCode::FORBIDDEN, why));
        }
        if headers.contains_key(ORIGIN) {
            let origin = only(headers, &ORIGIN).unwrap_or_default();
            if !self.is_origin(&origin.to_ascii_lowercase()) {
                let why = "requests of that origin are not taken: allow it with `--allow-origin`";
                return Err((StatusCode::FORBIDDEN, why));
            }
        }
        Ok(())
    }

    /// The origin of a page that may read the answers: one that was allowed, or of this machine.
    pub(crate) fn reader<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        self.is_origin(&text).then_some(origin)
    }

    /// Who makes the request.
    pub(crate) fn who(&self, headers: &HeaderMap) -> Result<&str, Refused> {
        if self.tokens.is_empty() {
            return Ok(ANYBODY);
        }
        let who = only(headers, &AUTHORIZATION).and_then(|header| {
            let (scheme, token) = header.split_once(' ')?;
            let bearer = scheme.eq_ignore_ascii_case("bearer");
            self.tokens
                .owner(token.trim_start().as_bytes())
                .filter(|_| bearer)
        });
        who.ok_or((
            StatusCode::UNAUTHORIZED,
            "the request needs a header `Authorization: Bearer TOKEN` with a token that is known",
        ))
    }

    fn is_origin(&self, origin: &str) -> bool {
        if self.origins.iter().any(|known| known == origin) {
            return true;
        }
        let rest = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|host| LOOPBACK.contains(&without_port(host)))
    }
}

/// The value of a header that stands there once.
pub(crate) fn only<'a>(
    headers: &'a HeaderMap,
    name: &hyper::header::HeaderName,
) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()
}

/// A host without its port; as it is, if what follows is none.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty() =>
        {
            name
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    fn status(guard: &Guard, pairs: &[(&'static str, &str)]) -> Result<String, u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let value = HeaderValue::from_str(value).unwrap();
            headers.append(HeaderName::from_static(name), value);
        }
        guard
            .place(&headers, None)
            .and_then(|()| guard.who(&headers))
            .map(str::to_owned)
            .map_err(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_names_that_are_known_and_no_strange_origin() {
        let guard = Guard::new(
            Tokens::default(),
            "10.0.0.1".parse().unwrap(),
            &["Gate.example".to_owned()],
            &["https://app.example".to_owned()],
        );
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:80",
            "[::1]:8808",
            "[::1]",
            "10.0.0.1:5",
            "gate.EXAMPLE:443",
        ] {
            assert_eq!(
                status(&guard, &[("host", host)]),
                Ok("anybody".to_owned()),
                "{host}"
            );
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "",
            ":80",
            "localhost:",
            "localhost:x",
            "localhost:80:80",
            "user@localhost",
            "::1",
            "[::1",
            "127.1",
            "localhost.",
        ] {
            assert_eq!(status(&guard, &[("host", host)]), Err(403), "{host}");
        }
        assert_eq!(status(&guard, &[]), Err(400));
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(status(&guard, &twice), Err(400));
        let with = |origin| status(&guard, &[("host", "localhost"), ("origin", origin)]);
        for origin in [
            "http://localhost:3000",
            "https://127.0.0.1",
            "https://APP.example",
        ] {
            assert!(with(origin).is_ok(), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://evil.example",
            "https://app.example:1",
            "http://app.example",
            "http://localhost.evil.example",
            "file://localhost",
            "http://localhost@evil.example",
            "http://localhost:3000/x",
        ] {
            assert_eq!(with(origin), Err(403), "{origin}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        assert!(guard.place(&headers, Some("localhost:8808")).is_ok());
        assert!(guard.place(&headers, Some("evil.example")).is_err());
    }

    #[test]
    fn tokens_are_asked_for_where_there_are_some() {
        let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        let tokens = Tokens::parse(&format!("alice {digest}")).unwrap();
        let guard = Guard::new(tokens, "127.0.0.1".parse().unwrap(), &[], &[]);
        let with = |value| status(&guard, &[("host", "localhost"), ("authorization", value)]);
        assert_eq!(with("Bearer secret"), Ok("alice".to_owned()));
        assert_eq!(with("bearer  secret"), Ok("alice".to_owned()));
        for wrong in [
            "secret",
            "Bearer",
            "Bearer Secret",
            "Basic secret",
            "Bearer secret x",
            "",
        ] {
            assert_eq!(with(wrong), Err(401), "{wrong}");
        }
        assert_eq!(status(&guard, &[("host", "localhost")]), Err(401));
        let twice = [
            ("host", "localhost"),
            ("authorization", "Bearer secret"),
            ("authorization", "Bearer secret"),
        ];
        assert_eq!(status(&guard, &twice), Err(401));
    }
}
