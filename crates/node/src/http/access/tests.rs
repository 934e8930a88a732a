//! Tests of callers with different addresses and headers.

use std::{fmt, str::FromStr};

use super::{list::SHOWN, *};

fn access() -> Access {
    Access {
        hosts: "node.example,192.168.0.7,[2001:db8::1]".parse().unwrap(),
        origins: "https://ide.example,http://ide.example:3000,HTTPS://Upper.example:443,chrome-extension://abc"
            .parse()
            .unwrap(),
        proxies: "10.0.0.0/8,192.168.0.1,fd00::/8".parse().unwrap(),
    }
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (HeaderName::from_str(name).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
    };
    let mut map = HeaderMap::new();
    for (name, value) in lines.iter().map(pair) {
        map.append(name, value);
    }
    map
}

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn judge(target: &str, lines: &[(&str, &str)]) -> Option<Foreign> {
    access().foreign(LOOPBACK, &target.parse().unwrap(), &headers(lines))
}

const OWN_HOSTS: [&str; 16] = [
    "localhost",
    "LOCALHOST:5555",
    "localhost.",
    "app.localhost:80",
    "127.0.0.1",
    "127.0.0.1:5555",
    "127.8.9.1",
    "[::1]",
    "[::1]:5555",
    "[::ffff:127.0.0.1]:1",
    "node.example",
    "Node.Example:65535",
    "node.example.:1",
    "192.168.0.7:5555",
    "[2001:db8::1]",
    "[2001:db8:0::1]:80",
];

const FOREIGN_HOSTS: [&str; 22] = [
    "",
    ":5555",
    "x",
    "evil.example",
    "evil.example:5555",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.node.example",
    "notlocalhost",
    "localhost@evil.example",
    "evil.example@localhost",
    "localhost:80@evil.example",
    "localhost:80.evil.example",
    "localhost:70000",
    "0.0.0.0:5555",
    "127.1",
    "0x7f.0.0.1",
    "128.0.0.1",
    "::1",
    "[::1",
    "[::1]evil.example",
    "[::]:5555",
];

#[test]
fn host_has_to_be_loopback_or_listed() {
    for host in OWN_HOSTS {
        assert_eq!(judge("/", &[("host", host)]), None, "{host}");
    }
    for host in FOREIGN_HOSTS {
        assert_eq!(judge("/", &[("host", host)]), Some(Foreign::Host { got: host.to_owned() }), "{host}");
    }
    assert_eq!(judge("/", &[]), Some(Foreign::NoHost));
    let two = judge("/", &[("host", "localhost"), ("host", "localhost")]);
    assert!(matches!(two, Some(Foreign::Host { .. })), "{two:?}");
}

#[test]
fn host_of_the_target_counts_as_well() {
    assert_eq!(judge("http://127.0.0.1:5555/", &[("host", "localhost")]), None);
    let target = judge("http://evil.example/", &[("host", "localhost")]);
    assert_eq!(target, Some(Foreign::Target { got: "evil.example".to_owned() }));
    let host = judge("http://localhost/", &[("host", "evil.example")]);
    assert!(matches!(host, Some(Foreign::Host { .. })), "{host:?}");
}

#[test]
fn metrics_are_returned_for_every_address_and_for_known_names() {
    let name = |target: &str, lines: &[(&str, &str)]| access().unknown_name(&target.parse().unwrap(), &headers(lines));
    let addresses = ["0.0.0.0:5555", "128.0.0.1", "10.1.2.3:9100", "[::]:5555", "[2001:db8::9]:9100", ""];
    for host in OWN_HOSTS.into_iter().chain(addresses) {
        assert_eq!(name("/metrics", &[("host", host)]), None, "{host}");
    }
    for host in FOREIGN_HOSTS.into_iter().filter(|host| !addresses.contains(host)) {
        assert_eq!(name("/metrics", &[("host", host)]).as_deref(), Some(host));
    }
    assert_eq!(name("/metrics", &[]), None);
    assert_eq!(name("http://10.1.2.3/metrics", &[("host", "node.example")]), None);
    let evil = Some("evil.example".to_owned());
    assert_eq!(name("http://evil.example/metrics", &[]), evil);
    assert_eq!(name("http://evil.example/metrics", &[("host", "10.1.2.3")]), evil);
    assert_eq!(name("http://10.1.2.3/metrics", &[("host", "evil.example")]), evil);
    assert_eq!(name("/metrics", &[("host", &"x".repeat(5000))]).map(|shown| shown.len()), Some(SHOWN));
}

const OWN_ORIGINS: [&str; 11] = [
    "http://localhost",
    "http://localhost:3000",
    "https://localhost:3000",
    "http://app.localhost:1",
    "http://127.0.0.1:8080",
    "https://[::1]:8443",
    "https://ide.example",
    "https://ide.example:443",
    "http://ide.example:3000",
    "https://upper.example",
    "chrome-extension://abc",
];

const FOREIGN_ORIGINS: [&str; 16] = [
    "",
    "null",
    "localhost",
    "http://evil.example",
    "http://ide.example",
    "https://ide.example:3000",
    "https://ide.example.evil.example",
    "https://sub.ide.example",
    "http://localhost.evil.example",
    "http://localhost@evil.example",
    "http://localhost:80.evil.example",
    "http://localhost:3000/path",
    "http://localhost, http://evil.example",
    "file://localhost",
    "chrome-extension://localhost",
    "http://0.0.0.0:5555",
];

#[test]
fn origin_has_to_be_absent_loopback_or_listed() {
    for origin in OWN_ORIGINS {
        assert_eq!(judge("/", &[("host", "localhost"), ("origin", origin)]), None, "{origin}");
    }
    for origin in FOREIGN_ORIGINS {
        let expected = Some(Foreign::Origin { got: origin.to_owned() });
        assert_eq!(judge("/", &[("host", "localhost"), ("origin", origin)]), expected, "{origin}");
    }
    let two = judge("/", &[("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")]);
    assert!(matches!(two, Some(Foreign::Origin { .. })), "{two:?}");
}

#[test]
fn request_that_a_proxy_has_passed_on_is_foreign() {
    let further = ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything", "X-Forwarded"];
    for name in further.into_iter().chain(OF_PROXIES) {
        let judged = judge("/", &[("host", "localhost"), (name, "127.0.0.1")]);
        assert!(matches!(judged, Some(Foreign::Proxied { .. })), "{name}: {judged:?}");
    }
    for name in ["x-request-id", "user-agent", "referer", "cookie", "x-forward", "content-type"] {
        assert_eq!(judge("/", &[("host", "localhost"), (name, "127.0.0.1")]), None, "{name}");
    }
    let local = headers(&[("host", "localhost")]);
    for peer in ["10.1.2.3", "192.168.0.1", "::ffff:10.0.0.1", "fd00::7"] {
        let judged = access().foreign(peer.parse().unwrap(), &Uri::from_static("/"), &local);
        assert!(matches!(judged, Some(Foreign::FromProxy { .. })), "{peer}: {judged:?}");
    }
}

#[test]
fn reason_names_what_came_what_is_expected_and_the_option() {
    let check = |lines: &[(&str, &str)], words: &[&str]| {
        let reason = judge("/", lines).unwrap().to_string();
        for word in words {
            assert!(reason.contains(word), "{word:?} is missing in {reason}");
        }
    };
    check(&[("host", "evil.example")], &["Host", "\"evil.example\"", "loopback", "--allowed-hosts"]);
    check(&[], &["Host", "missing", "loopback", "--allowed-hosts"]);
    check(&[("host", "localhost"), ("origin", "null")], &["Origin", "\"null\"", "loopback", "--allowed-origins"]);
    check(&[("host", "localhost"), ("via", "1.1 proxy")], &["via", "\"1.1 proxy\"", "without a proxy"]);
    let long = judge("/", &[("host", &"x".repeat(5000))]).unwrap().to_string();
    assert!(long.len() < 300, "{long}");
}

/// Checks that the rate limit of a request of `peer` applies to the address `expected`.
#[track_caller]
fn check_client(peer: &str, lines: &[(&str, &str)], expected: &str) {
    let client = access().client(peer.parse().unwrap(), &headers(lines));
    assert_eq!(client, expected.parse::<IpAddr>().unwrap(), "{peer} {lines:?}");
}

#[test]
fn client_of_a_trusted_proxy_is_the_last_address_that_is_no_proxy() {
    const FOR: &str = "x-forwarded-for";
    check_client("10.0.0.1", &[(FOR, "1.2.3.4")], "1.2.3.4");
    check_client("::ffff:10.0.0.1", &[(FOR, "1.2.3.4")], "1.2.3.4");
    check_client("10.0.0.1", &[(FOR, "9.9.9.9, 1.2.3.4, 10.0.0.2")], "1.2.3.4");
    check_client("10.0.0.1", &[(FOR, "9.9.9.9"), (FOR, "1.2.3.4"), (FOR, "10.0.0.2,192.168.0.1")], "1.2.3.4");
    check_client("10.0.0.1", &[(FOR, "1.2.3.4:567")], "1.2.3.4");
    check_client("10.0.0.1", &[(FOR, "[2001:db8::5]:567")], "2001:db8::5");
    check_client("10.0.0.1", &[(FOR, "2001:db8::5")], "2001:db8::5");
    // The text of the client, to the left of the first proxy, is not read.
    check_client("10.0.0.1", &[(FOR, "nonsense, 1.2.3.4")], "1.2.3.4");
    // If an element is invalid, the rate limit applies to the proxy that appended the element.
    check_client("10.0.0.1", &[(FOR, "1.2.3.4, unknown")], "10.0.0.1");
    check_client("10.0.0.1", &[(FOR, "1.2.3.4, unknown, 10.0.0.2")], "10.0.0.2");
    check_client("10.0.0.1", &[(FOR, "")], "10.0.0.1");
    check_client("10.0.0.1", &[(FOR, "10.0.0.3, 10.0.0.2")], "10.0.0.3");
    check_client("10.0.0.1", &[], "10.0.0.1");
}

#[test]
fn client_may_be_named_by_forwarded() {
    let check = |value: &str, expected| check_client("10.0.0.1", &[("forwarded", value)], expected);
    check("for=1.2.3.4", "1.2.3.4");
    check("for=9.9.9.9, For=\"1.2.3.4:80\";proto=http;by=10.0.0.2, for=10.0.0.2", "1.2.3.4");
    check("proto=http;for=\"[2001:db8::5]:4711\"", "2001:db8::5");
    check("for=\"9.9.9.9, for=1.2.3.4", "1.2.3.4");
    check("for=_hidden", "10.0.0.1");
    check("proto=http", "10.0.0.1");
    let both = |one, other| [("x-forwarded-for", one), ("forwarded", other)];
    check_client("10.0.0.1", &both("1.2.3.4", "for=1.2.3.4"), "1.2.3.4");
    check_client("10.0.0.1", &both("1.2.3.4", "for=9.9.9.9"), "10.0.0.1");
    // The header of the proxy does not name the client, and the client has written the other header.
    check_client("10.0.0.1", &both("9.9.9.9", "for=_hidden"), "10.0.0.1");
    check_client("10.0.0.1", &both("unknown", "for=9.9.9.9"), "10.0.0.1");
}

#[test]
fn no_other_peer_can_say_who_it_is() {
    for peer in ["127.0.0.1", "8.8.8.8", "192.168.0.2", "::1"] {
        for lines in [[("x-forwarded-for", "1.2.3.4")], [("forwarded", "for=1.2.3.4")]] {
            check_client(peer, &lines, peer);
        }
    }
    let without_proxies = Access::default();
    assert_eq!(without_proxies.client(LOOPBACK, &headers(&[("x-forwarded-for", "1.2.3.4")])), LOOPBACK);
}

#[test]
fn lists_that_cannot_be_read_are_refused_with_what_came() {
    fn check<T: FromStr<Err = ListError> + fmt::Debug>(text: &str, word: &str) {
        let error = text.parse::<List<T>>().unwrap_err().to_string();
        assert!(error.contains("expected ") && error.contains(word), "{error}");
    }
    for (text, word) in [("a,,b", "\"\""), ("a:80", "\"a:80\""), ("*", "\"*\""), ("http://a", "\"http://a\"")] {
        check::<Host>(text, word);
    }
    for (text, word) in [("null", "\"null\""), ("*", "\"*\""), ("http://a/", "\"http://a/\""), ("a", "\"a\"")] {
        check::<PageOrigin>(text, word);
    }
    for (text, word) in [("10.0.0.0/33", "/33"), ("proxy", "\"proxy\""), ("10.0.0", "\"10.0.0\"")] {
        check::<Network>(text, word);
    }
    assert_eq!("".parse::<List<Host>>().unwrap(), List::default());
    assert_eq!("fd00::/8".parse::<Network>().unwrap().to_string(), "fd00::/8");
}
