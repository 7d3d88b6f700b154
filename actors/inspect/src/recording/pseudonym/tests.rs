//! Pseudonyms are of the kind of what they stand for, always the same, and nothing of it.

use super::*;
use haptic_model::{Bundle, BundleFile, FileKey, FileKind, HaproxyVersion};
use haptic_routes::certificate;
use haptic_text::Text;
use haptic_validate::{Binaries, CheckLimits, Checker, Sandbox};
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
use serde_json::json;

/// Made by OpenSSL: certificates with their keys.
const RSA: &str = include_str!("../../../../render/tests/pem/rsa.pem");
const RSA_PKCS1: &str = include_str!("../../../../render/tests/pem/rsa-pkcs1.key");
const EC_SEC1: &str = include_str!("../../../../render/tests/pem/ec-sec1.pem");

fn secret(entries: &[(&str, &str)]) -> Value {
    let data = entries.iter().map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value).into()));
    json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"namespace": "shop", "name": "tls"}, "data": data.collect::<Map<_, _>>()})
}

fn stood_in(entries: &[(&str, &str)]) -> Value {
    let mut value = secret(entries);
    Pseudonyms::new().unwrap().secret(&mut value).unwrap();
    value
}

fn entry(secret: &Value, key: &str) -> String {
    String::from_utf8(STANDARD.decode(secret["data"][key].as_str().unwrap()).unwrap()).unwrap()
}

/// A certificate with its key, both as PEM.
fn pair(key: &KeyPair) -> (String, String) {
    let certificate =
        CertificateParams::new(["secret-host.example".to_owned()]).unwrap().self_signed(key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// The certificate in a file that has its key, too.
fn certificate_in(pem: &str) -> String {
    let from = pem.find("-----BEGIN CERTIFICATE").unwrap();
    let end = "-----END CERTIFICATE-----\n";
    let to = pem[from..].find(end).unwrap();
    pem[from..from + to + end.len()].to_owned()
}

fn pairs() -> Vec<(String, String)> {
    let algorithms = [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519];
    let mut pairs: Vec<_> = algorithms.map(|a| pair(&KeyPair::generate_for(a).unwrap())).into();
    pairs.push((certificate_in(RSA), pem::private_keys(RSA).remove(0)));
    pairs.push((certificate_in(RSA), RSA_PKCS1.to_owned()));
    pairs.push((certificate_in(EC_SEC1), pem::private_keys(EC_SEC1).remove(0)));
    pairs
}

fn label(pem: &str) -> &str {
    pem.lines().next().unwrap()
}

#[tokio::test]
async fn haproxy_takes_the_pair_that_stands_in_for_a_pair_whatever_its_keys_are() {
    let mut files = Vec::new();
    let mut binds = String::new();
    for (number, (certificate, key)) in pairs().iter().enumerate() {
        let stands = stood_in(&[("tls.crt", &format!("{certificate}{certificate}")), ("tls.key", key)]);
        let (chain, own) = (entry(&stands, "tls.crt"), entry(&stands, "tls.key"));
        assert_eq!(certificate::pair(&chain, &own).err(), None);
        assert_eq!(label(&own), label(key), "the key has another form");
        assert_eq!(chain.matches("BEGIN CERTIFICATE").count(), 2);
        assert!(
            !chain.contains(certificate.lines().nth(3).unwrap())
                && !own.contains(key.lines().nth(1).unwrap())
        );
        let path = format!("ssl/{number}.pem");
        binds.push_str(&format!(" crt {path}"));
        files.push((FileKind::Certificate, path, chain + &own));
    }
    let ca = stood_in(&[("ca.crt", &format!("{}{}", pairs()[0].0, pairs()[1].0))]);
    files.push((FileKind::Certificate, "ssl/ca.pem".into(), entry(&ca, "ca.crt")));
    let hashes = "one:$6$saltsalt$abc\ntwo:$5$rounds=5000$saltsalt$abc\n";
    let users = entry(&stood_in(&[("auth", hashes)]), "auth");
    let users: String = users
        .lines()
        .map(|line| line.split_once(':').unwrap())
        .map(|(user, hash)| format!("    user {user} password {hash}\n"))
        .collect();
    let config = format!(
        "defaults\n    mode http\n    timeout client 5s\n    timeout server 5s\n    timeout connect 5s\n\
         userlist u\n{users}frontend web\n    bind :8443 ssl{binds} ca-file ssl/ca.pem verify optional\n"
    );
    let files = files
        .into_iter()
        .map(|(kind, path, text)| BundleFile::new(FileKey::new(kind, &path), &path, Text::plain(&text)));
    let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&config)), files);
    let haproxys = ["3_0", "3_2", "3_4"].map(|version| {
        std::env::var_os(format!("HAPTIC_HAPROXY_{version}")).expect("run this through `make test`")
    });
    let checker = Checker::new(Binaries::probe(haproxys).unwrap(), CheckLimits::default(), Sandbox::none());
    let versions = [(3, 0), (3, 2), (3, 4)].map(|(a, b)| HaproxyVersion::new(a, b));
    let verdict = checker.semantics(&bundle, &versions).await;
    assert!(verdict.passed(), "{:?}\n{config}", verdict.diagnostics);
}

#[test]
fn what_is_wrong_with_a_pair_is_wrong_with_what_stands_in_for_it() {
    let (certificate, key) = pair(&KeyPair::generate().unwrap());
    let (_, other) = pair(&KeyPair::generate().unwrap());
    let (rsa, rsa_key) = (certificate_in(RSA), pem::private_keys(RSA).remove(0));
    let encrypted = key
        .replace("BEGIN PRIVATE", "BEGIN ENCRYPTED PRIVATE")
        .replace("END PRIVATE", "END ENCRYPTED PRIVATE");
    let framed = |what: &str, body: &str| format!("-----BEGIN {what}-----\n{body}\n-----END {what}-----\n");
    let garbled = framed("CERTIFICATE", &STANDARD.encode("no certificate at all"));
    for (chain, key) in [
        (&*certificate, &*other),
        (&rsa, &key),
        (&rsa, &rsa_key),
        (&certificate, &encrypted),
        (&garbled, &key),
        (&framed("CERTIFICATE", "%%%"), &key),
        (&certificate, &framed("PRIVATE KEY", "%%%")),
        (&certificate[..certificate.len() / 2], &key),
        ("", &key),
        (&certificate, ""),
        (&key, &certificate),
        ("no PEM", "nor this"),
    ] {
        let stands = stood_in(&[("tls.crt", chain), ("tls.key", key)]);
        let (seen, real) = (
            certificate::pair(&entry(&stands, "tls.crt"), &entry(&stands, "tls.key")).err(),
            certificate::pair(chain, key).err(),
        );
        assert_eq!(seen, real, "{chain}{key}");
    }
}

#[test]
fn the_same_value_has_always_the_same_stand_in_and_another_one_has_another() {
    let [first, second] = [pair(&KeyPair::generate().unwrap()), pair(&KeyPair::generate().unwrap())];
    let versions = |made: &mut Pseudonyms| {
        [&first, &second, &first].map(|(certificate, key)| {
            let mut value = secret(&[("tls.crt", certificate), ("tls.key", key), ("password", key)]);
            made.secret(&mut value).unwrap();
            value
        })
    };
    let [one, two, again] = versions(&mut Pseudonyms::new().unwrap());
    assert_eq!(one, again);
    assert_ne!(one["data"]["tls.crt"], two["data"]["tls.crt"]);
    assert_eq!([one, two, again], versions(&mut Pseudonyms::new().unwrap()), "in another process");
}

#[test]
fn other_secrets_and_other_entries_have_other_stand_ins() {
    let (certificate, key) = pair(&KeyPair::generate().unwrap());
    let mut made = Pseudonyms::new().unwrap();
    let mut one =
        secret(&[("tls.crt", &certificate), ("tls.key", &key), ("a", "hunter22"), ("b", "hunter22")]);
    let mut other = one.clone();
    other["metadata"]["name"] = json!("other");
    made.secret(&mut one).unwrap();
    made.secret(&mut other).unwrap();
    for entry in ["tls.crt", "a"] {
        assert_ne!(one["data"][entry], other["data"][entry]);
    }
    assert_ne!(one["data"]["a"], one["data"]["b"]);
}

#[test]
fn what_is_no_base64_or_no_text_is_replaced_too() {
    let mut value = json!({"kind": "Secret", "metadata": {"name": "s", "annotations": {"note": "it is hunter22, really"}},
        "data": {"bad": "hunter22 %%", "bytes": STANDARD.encode([0, 159, 146, 150]), "empty": ""},
        "stringData": {"plain": "hunter22"}});
    Pseudonyms::new().unwrap().secret(&mut value).unwrap();
    assert!(!value.to_string().contains("hunter22"), "{value}");
    assert_eq!(value["stringData"]["plain"].as_str().unwrap().len(), 8);
    assert!(value["data"]["bad"].as_str().unwrap().contains(' '));
    assert_ne!(value["data"]["bytes"], STANDARD.encode([0, 159, 146, 150]));
    assert_eq!(value["data"]["empty"], "");
}
