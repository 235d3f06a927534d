//! Buckets, Redis, WebDAV and GitHub Actions' cache, through OpenDAL.

use opendal::{Error, ErrorKind, Operator};
use opendal_http_transport_reqwest::ReqwestTransport;
use tokio::runtime::{Builder, Runtime};

use super::address::{Address, Kind};
use super::{MAX_BYTES, Place};

/// One thread waits for the network; those that ask wait for it.
const NETWORK_THREADS: usize = 1;

/// S3 wants some region, servers of one's own most often have none.
const DEFAULT_REGION: &str = "us-east-1";

/// Keys and values, as OpenDAL names them.
type Settings = Vec<(String, String)>;

pub struct Service {
    operator: Operator,
    runtime: Runtime,
}

impl Service {
    /// # Errors
    /// The environment lacks something, or has what the service does not understand.
    pub fn new(address: &Address) -> Result<Self, String> {
        // Only the first provider of a process counts, and we have one alone.
        drop(rustls::crypto::ring::default_provider().install_default());
        opendal::init_default_registry();
        let client = reqwest::Client::builder().build().map_err(|error| error.to_string())?;
        opendal::HttpTransporter::install_default(ReqwestTransport::new(client));
        let (scheme, settings) = settings(address, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))?;
        let runtime = Builder::new_multi_thread().worker_threads(NETWORK_THREADS).enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let inside = runtime.enter();
        let operator = Operator::via_iter(scheme, settings).map_err(|error| told(&error))?;
        drop(inside);
        Ok(Self { operator, runtime })
    }
}

impl Place for Service {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let found = self.runtime.block_on(async {
            let known = self.operator.stat(name).await?;
            if known.content_length() > MAX_BYTES {
                return Ok(None);
            }
            self.operator.read(name).await.map(|bytes| Some(bytes.to_vec()))
        });
        match found {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            found => found.map_err(|error| told(&error)),
        }
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
        self.runtime.block_on(self.operator.write(name, bytes)).map(drop).map_err(|error| told(&error))
    }
}

/// An error's message and its cause, a line each: the rest is the request, with its headers.
fn told(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    let texts = [Some(error.message()), cause.as_deref()].into_iter().flatten();
    let lines: Vec<&str> = texts.filter_map(|text| text.lines().next()).filter(|line| !line.is_empty()).collect();
    lines.join(": ")
}

/// What OpenDAL calls the service, and what it must know. Credentials that it does not find in the environment itself are added.
fn settings(address: &Address, variable: impl Fn(&str) -> Option<String>) -> Result<(&'static str, Settings), String> {
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
    let Address { scheme, host, path, .. } = address;
    let root = || ("root", Some(path.clone()));
    let (name, settings) = match address.kind {
        Kind::Folder => return Err("a folder is no service".to_string()),
        Kind::S3 => {
            let region = first(&["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_else(|| DEFAULT_REGION.to_string());
            let endpoint = first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
            ("s3", vec![("bucket", Some(host.clone())), root(), ("region", Some(region)), ("endpoint", endpoint)])
        }
        Kind::Gcs => {
            let endpoint = first(&["STORAGE_EMULATOR_HOST"]);
            ("gcs", vec![("bucket", Some(host.clone())), root(), ("endpoint", endpoint)])
        }
        Kind::Azure => {
            let account = first(&["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"]);
            let usual = account.as_ref().map(|account| format!("https://{account}.blob.core.windows.net"));
            let endpoint = first(&["AZURE_STORAGE_SERVICE_ENDPOINT"]).or(usual);
            let endpoint = endpoint.ok_or("`AZURE_STORAGE_ACCOUNT` is not set")?;
            let key = first(&["AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"]);
            let sas = first(&["AZURE_STORAGE_SAS_TOKEN"]);
            let credentials = [("account_name", account), ("account_key", key), ("sas_token", sas)];
            let place = [("container", Some(host.clone())), root(), ("endpoint", Some(endpoint))];
            ("azblob", place.into_iter().chain(credentials).collect())
        }
        Kind::Redis => {
            let (database, root) = match path.split_once('/') {
                Some((database, root)) => (database, Some(root.to_string())),
                None => (path.as_str(), None),
            };
            if !database.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!("`{database}` is no number of a Redis database"));
            }
            let database = (!database.is_empty()).then(|| database.to_string());
            let credentials = [("username", variable("REDIS_USERNAME")), ("password", variable("REDIS_PASSWORD"))];
            let place = [("endpoint", Some(format!("{scheme}://{host}"))), ("db", database), ("root", root)];
            ("redis", place.into_iter().chain(credentials).collect())
        }
        Kind::Github => ("ghac", vec![root()]),
        Kind::WebDav => {
            let protocol = if *scheme == "webdav+http" { "http" } else { "https" };
            let place = [("endpoint", Some(format!("{protocol}://{host}"))), root()];
            let names = [("username", "WEBDAV_USERNAME"), ("password", "WEBDAV_PASSWORD"), ("token", "WEBDAV_TOKEN")];
            ("webdav", place.into_iter().chain(names.map(|(key, name)| (key, variable(name)))).collect())
        }
    };
    let given = settings.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?)));
    Ok((name, given.filter(|(_, value)| !value.is_empty()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(address: &str, environment: &[(&str, &str)]) -> Result<String, String> {
        let address = Address::parse(address).unwrap();
        let variable = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_string())
        };
        let (service, settings) = settings(&address, variable)?;
        let settings: Vec<String> = settings.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        Ok(format!("{service} {}", settings.join(" ")))
    }

    #[test]
    fn services_are_told_what_the_address_and_the_environment_say() {
        assert_eq!(given("s3://bucket/a", &[]).unwrap(), "s3 bucket=bucket root=a region=us-east-1");
        let minio = [("AWS_ENDPOINT_URL", "http://localhost:9000"), ("AWS_REGION", "here")];
        assert_eq!(
            given("s3://bucket", &minio).unwrap(),
            "s3 bucket=bucket region=here endpoint=http://localhost:9000"
        );
        assert_eq!(given("redis://h:1/2/a", &[]).unwrap(), "redis endpoint=redis://h:1 db=2 root=a");
        assert_eq!(given("rediss://h", &[("REDIS_PASSWORD", "p")]).unwrap(), "redis endpoint=rediss://h password=p");
        assert!(given("redis://h/name", &[]).is_err());
        assert!(given("azblob://box", &[]).is_err());
        assert_eq!(
            given("azblob://box/a", &[("AZURE_STORAGE_ACCOUNT", "me"), ("AZURE_STORAGE_KEY", "a2V5")]).unwrap(),
            "azblob container=box root=a endpoint=https://me.blob.core.windows.net account_name=me account_key=a2V5"
        );
        assert_eq!(given("webdav+http://h/d", &[]).unwrap(), "webdav endpoint=http://h root=d");
        assert_eq!(given("ghac://", &[]).unwrap(), "ghac ");
    }

    #[test]
    fn each_service_is_part_of_the_build() {
        let environment = ["s3://b", "gs://b", "redis://127.0.0.1:1", "webdav://h"];
        for address in environment {
            assert!(Service::new(&Address::parse(address).unwrap()).is_ok(), "{address}");
        }
        // Nothing listens there.
        let service = Service::new(&Address::parse("redis://127.0.0.1:1").unwrap()).unwrap();
        assert!(service.get("ab/cd").is_err() && service.put("ab/cd", vec![1]).is_err());
    }
}
