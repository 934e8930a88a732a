//! Proxies from the environment variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or lower
//! case.

use hyper::{Uri, header::HeaderValue};
use hyper_util::client::proxy::matcher::Matcher;

use super::HttpError;
use crate::client::url::NodeUrl;

/// A proxy for the requests to one node.
pub(super) struct Proxy {
    pub(super) host: String,
    pub(super) port: u16,
    /// The value of the header `Proxy-Authorization`; `None` if the proxy URL has no credentials.
    pub(super) credentials: Option<HeaderValue>,
}

impl Proxy {
    /// Returns the proxy that the environment has for a URL; `None` without a proxy. A URL with a loopback host has no
    /// proxy, because a proxy on another machine cannot reach this host.
    pub(super) fn from_environment(url: &NodeUrl) -> Result<Option<Self>, HttpError> {
        if url.is_loopback() {
            return Ok(None);
        }
        Self::choose(&Matcher::from_env(), url)
    }

    fn choose(proxies: &Matcher, url: &NodeUrl) -> Result<Option<Self>, HttpError> {
        let target: Uri = url.to_string().parse().map_err(|_| HttpError::Url { got: url.to_string() })?;
        let Some(proxy) = proxies.intercept(&target) else { return Ok(None) };
        let uri = proxy.uri();
        if uri.scheme_str() != Some("http") {
            return Err(HttpError::ProxyScheme { scheme: uri.scheme_str().unwrap_or_default().to_owned() });
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(80);
        Ok(Some(Self { host, port, credentials: proxy.basic_auth().cloned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(proxies: &Matcher, url: &str, expected: Option<(&str, u16)>) {
        let proxy = Proxy::choose(proxies, &url.parse().unwrap()).unwrap();
        assert_eq!(proxy.as_ref().map(|proxy| (proxy.host.as_str(), proxy.port)), expected, "{url}");
    }

    #[test]
    fn proxy_is_chosen_by_scheme_and_host() {
        let builder = || Matcher::builder().http("http://one:1").https("two:2").no("direct.test,10.0.0.0/8");
        let proxies = builder().build();
        check(&proxies, "http://node.test", Some(("one", 1)));
        check(&proxies, "https://node.test", Some(("two", 2)));
        check(&proxies, "https://direct.test", None);
        check(&proxies, "https://api.direct.test", None);
        check(&proxies, "http://10.1.2.3:5555", None);
        check(&Matcher::builder().all("http://[::1]:3").build(), "https://node.test", Some(("::1", 3)));
        check(&Matcher::builder().build(), "https://node.test", None);
    }

    #[test]
    fn credentials_of_a_proxy_are_sent_to_it() {
        let proxies = Matcher::builder().all("http://user:word@proxy").build();
        let proxy = Proxy::choose(&proxies, &"http://node.test".parse().unwrap()).unwrap().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy", 80));
        assert_eq!(proxy.credentials.unwrap(), "Basic dXNlcjp3b3Jk");
    }

    #[test]
    fn proxy_of_another_kind_is_rejected() {
        let proxies = Matcher::builder().all("socks5://proxy:1080").build();
        let error = Proxy::choose(&proxies, &"http://node.test".parse().unwrap()).err().unwrap();
        assert!(error.to_string().ends_with("got one with the scheme socks5"), "{error}");
    }

    #[test]
    fn node_on_this_machine_needs_no_proxy() {
        for url in ["http://127.0.0.1:5555", "https://localhost", "http://[::1]:5555", "http://[::ffff:127.0.0.1]:1"] {
            assert!(Proxy::from_environment(&url.parse().unwrap()).unwrap().is_none(), "{url}");
        }
    }
}
