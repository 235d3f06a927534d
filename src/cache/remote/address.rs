//! Addresses of remote caches: `s3://bucket/prefix`, `redis://host:port/database`, `file:///folder`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Folder,
    S3,
    Gcs,
    Azure,
    Redis,
    Github,
    WebDav,
}

/// Schemes, and the kinds of places that they mean.
const SCHEMES: [(&str, Kind); 10] = [
    ("file", Kind::Folder),
    ("s3", Kind::S3),
    ("gs", Kind::Gcs),
    ("gcs", Kind::Gcs),
    ("azblob", Kind::Azure),
    ("redis", Kind::Redis),
    ("rediss", Kind::Redis),
    ("ghac", Kind::Github),
    ("webdav", Kind::WebDav),
    ("webdav+http", Kind::WebDav),
];

#[derive(Debug, PartialEq, Eq)]
pub struct Address {
    pub kind: Kind,
    pub scheme: &'static str,
    /// A bucket, a container, or a host with its port; empty for folders and GitHub.
    pub host: String,
    /// A path, for folders absolute, else without a `/` at its start.
    pub path: String,
}

impl Address {
    /// # Errors
    /// The text is no address. The message does not repeat it: there may be a password in it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let known = |name: &str| SCHEMES.into_iter().find(|(scheme, _)| *scheme == name);
        let (scheme, rest) = text.split_once("://").ok_or_else(not_understood)?;
        let (scheme, kind) = known(scheme).ok_or_else(not_understood)?;
        if rest.contains(['?', '#', '@']) {
            return Err(format!(
                "`{}` takes neither credentials nor options: they belong into the environment",
                super::VARIABLE
            ));
        }
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let has_host = !host.is_empty();
        let (is_right, path) = match kind {
            Kind::Folder => (!has_host && !path.is_empty(), format!("/{path}")),
            Kind::Github => (true, rest.trim_matches('/').to_string()),
            _ => (has_host, path.trim_end_matches('/').to_string()),
        };
        let host = if kind == Kind::Github { String::new() } else { host.to_string() };
        is_right.then_some(Self { kind, scheme, host, path }).ok_or_else(not_understood)
    }
}

fn not_understood() -> String {
    let schemes = SCHEMES.map(|(scheme, _)| format!("`{scheme}://`")).join(", ");
    format!("`{}` has no address; addresses begin with {schemes}", super::VARIABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(Kind, String, String)> {
        Address::parse(text).ok().map(|address| (address.kind, address.host, address.path))
    }

    fn some(kind: Kind, host: &str, path: &str) -> Option<(Kind, String, String)> {
        Some((kind, host.to_string(), path.to_string()))
    }

    #[test]
    fn addresses_are_taken_apart() {
        assert_eq!(parsed("file:///mnt/shared"), some(Kind::Folder, "", "/mnt/shared"));
        assert_eq!(parsed("s3://bucket/a/b/"), some(Kind::S3, "bucket", "a/b"));
        assert_eq!(parsed("gs://bucket"), some(Kind::Gcs, "bucket", ""));
        assert_eq!(parsed("redis://host:6379/2"), some(Kind::Redis, "host:6379", "2"));
        assert_eq!(parsed("ghac://"), some(Kind::Github, "", ""));
        assert_eq!(parsed("ghac://main/gpu"), some(Kind::Github, "", "main/gpu"));
        assert_eq!(parsed("webdav://host/dav"), some(Kind::WebDav, "host", "dav"));
    }

    #[test]
    fn what_is_no_address_is_not_repeated() {
        let wrong = [
            "",
            "/mnt/shared",
            "file://relative/path",
            "file://",
            "s3://",
            "s3:///a",
            "ftp://secret",
            "redis://u:secret@h",
        ];
        for text in wrong.into_iter().chain(["s3://bucket?secret_access_key=secret"]) {
            let error = Address::parse(text).unwrap_err();
            assert!(!error.contains("secret") && error.contains(super::super::VARIABLE), "{text}: {error}");
        }
    }
}
