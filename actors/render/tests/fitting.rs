//! What templates say of files and of the process, and what of it is in haproxy.cfg with each transport.

use crate::support::Setup;
use haptic_model::{ActiveConfig, FileKey, Fleet, Layout};
use haptic_render::{Checked, RenderJob, Renderer, Rendering};
use serde_json::json;

const BEGINNING: &str = "defaults\n  mode http\nlisten l\n";

/// A configuration with a file of each kind.
fn with_files(template: &str) -> Setup {
    Setup::new(template)
        .map("host.map", "a b\n")
        .map("domains", "a b\n")
        .with("files/503.http/template", json!("HTTP/1.0 503 x\r\n\r\n"))
        .with("files/error_404", json!({"template": "HTTP/1.0 404 x\r\n\r\n", "path": "/etc/haproxy/errors/404.http"}))
        .with("sslCertificates/shop.b.pem/template", json!("x\n"))
        .with("sslCertificates/wildcard/template", json!("x\n"))
        .with("crtLists/list.txt/template", json!("/etc/haproxy/ssl/shop.b.pem [alpn h2 ca-file /etc/haproxy/ssl/wildcard.pem] /etc/haproxy/ssl/shop.b.pem\n"))
}

fn config(setup: &Setup) -> ActiveConfig {
    let config = setup.config();
    ActiveConfig { layout: Layout::of(&config.spec.dataplane).unwrap(), ..config }
}

fn rendered(setup: &Setup) -> Rendering {
    let compiled = setup.compile().unwrap();
    let fleet = Fleet::default();
    let mut renderer = Renderer::checked(Checked::Always);
    let rendering = renderer.render(&RenderJob {
        compiled: &compiled,
        config: &config(setup),
        snapshots: &setup.snapshots(),
        fleet: &fleet,
        limits: &setup.limits,
    });
    assert_eq!(renderer.take_difference(), None);
    rendering.unwrap()
}

fn by_api(setup: Setup) -> Setup {
    setup.with("dataplane/transport", json!("dataplaneapi"))
}

fn line(rendering: &Rendering, number: u32) -> String {
    rendering.bundle.config.text.line(number).unwrap()
}

fn lines(template: &str) -> [String; 2] {
    let whole = format!("{BEGINNING}{template}\n");
    [line(&rendered(&with_files(&whole)), 4), line(&rendered(&by_api(with_files(&whole))), 4)]
}

#[test]
fn literal_paths_of_rendered_files_lead_to_them_with_each_transport() {
    let stored =
        |name: &str| config(&by_api(with_files(""))).layout.path(haptic_model::FileKind::Certificate, name);
    let shop = stored("shop.b.pem");
    assert_ne!(shop, "/etc/haproxy/ssl/shop.b.pem", "the API's storage would change that name");
    let domains = config(&by_api(with_files(""))).layout.path(haptic_model::FileKind::Map, "domains");
    for (said, agent, api) in [
        ("errorfile 503 /etc/haproxy/general/503.http", "errorfile 503 general/503.http".to_owned(), None),
        ("errorfile 404 /etc/haproxy/errors/404.http", "errorfile 404 errors/404.http".to_owned(), None),
        (
            "use_backend %[path,map(/etc/haproxy/maps/host.map)] if { src -f /etc/haproxy/maps/host.map }",
            "use_backend %[path,map(maps/host.map)] if { src -f maps/host.map }".to_owned(),
            None,
        ),
        (
            "use_backend %[path,map_beg(/etc/haproxy/maps/domains.map,x)]",
            "use_backend %[path,map_beg(maps/domains,x)]".to_owned(),
            Some(format!("use_backend %[path,map_beg({domains},x)]")),
        ),
        (
            "bind :1 ssl crt /etc/haproxy/ssl/shop.b.pem crt-list /etc/haproxy/ssl/list.txt",
            "bind :1 ssl crt ssl/shop.b.pem crt-list ssl/list.txt".to_owned(),
            Some(format!("bind :1 ssl crt {shop} crt-list /etc/haproxy/general/list.txt")),
        ),
        ("bind :1 ssl crt /etc/haproxy/ssl/", "bind :1 ssl crt ssl".to_owned(), None),
        // Text that looks like one, and what is not rendered.
        (
            "http-request set-header X /etc/haproxy/maps/host.map",
            "http-request set-header X /etc/haproxy/maps/host.map".to_owned(),
            None,
        ),
        (
            "errorfile 503 /etc/haproxy/general/504.http",
            "errorfile 503 /etc/haproxy/general/504.http".to_owned(),
            None,
        ),
    ] {
        assert_eq!(lines(said), [agent, api.unwrap_or_else(|| said.to_owned())], "{said}");
    }
}

#[test]
fn paths_in_a_crt_list_lead_to_the_files_too() {
    let list = |setup: Setup| {
        let bundle = rendered(&setup).bundle;
        let is_list = |key: &FileKey| &*key.name == "list.txt";
        let file = bundle.files.values().find(|file| is_list(&file.key)).unwrap();
        file.text.to_string()
    };
    let text = format!("{BEGINNING}  bind :1 ssl crt-list /etc/haproxy/ssl/list.txt\n");
    let agent = list(with_files(&text));
    assert_eq!(agent, "ssl/shop.b.pem [alpn h2 ca-file ssl/wildcard] /etc/haproxy/ssl/shop.b.pem\n");
    assert!(!list(by_api(with_files(&text))).starts_with("/etc/haproxy/ssl/shop.b.pem"));
}

#[test]
fn a_folder_of_certificates_is_where_they_are() {
    let template = "global\n  crt-base /etc/haproxy/ssl\n  ca-base /etc/ssl/certs\n";
    assert_eq!(line(&rendered(&with_files(template)), 2), "  crt-base ssl");
    assert_eq!(line(&rendered(&with_files(template)), 3), "  ca-base /etc/ssl/certs");
    assert_eq!(line(&rendered(&by_api(with_files(template))), 2), "  crt-base /etc/haproxy/ssl");
}

/// What an object says is never the name of a file: not whole, not in part.
#[test]
fn a_value_never_becomes_a_path() {
    let template = format!(
        "{BEGINNING}{{{{#each (list \"ingresses\") as |o|}}}}\n  errorfile 503 {{{{o.metadata.name}}}}\n  \
         errorfile 503 /etc/haproxy/general/{{{{o.metadata.namespace}}}}\n  \
         errorfile 503 \"/etc/haproxy/general/503.http\" # {{{{o.metadata.name}}}}\n{{{{/each}}}}\n"
    );
    let name = "/etc/haproxy/general/503.http";
    let setup = with_files(&template).object(
        "ingresses",
        "503.http",
        name,
        &["503.http", name],
        json!({"metadata": {"namespace": "503.http", "name": name}}),
    );
    let rendering = rendered(&setup);
    assert_eq!(line(&rendering, 4), format!("  errorfile 503 {name}"));
    assert_eq!(line(&rendering, 5), format!("  errorfile 503 {name}"));
    assert_eq!(line(&rendering, 6), format!("  errorfile 503 \"general/503.http\" # {name}"));
    let origin = rendering.bundle.config.text.origin(6).unwrap();
    assert_eq!(
        (origin.line, origin.object.map(|o| o.to_string())),
        (7, Some(format!("ingresses 503.http/{name}")))
    );
}

#[test]
fn what_global_says_of_the_process_is_ignored_beside_the_agent_with_a_notice() {
    let template = "global\n  daemon\n  chroot /var/lib/haproxy\n  user {{word}}\n  group haproxy # g\n  uid 99\n  gid 99\n  maxconn 9\n\
        userlist u\n  group g users anna\n  user anna password x\nglobal\n\tdaemon\n";
    let setup = || Setup::new(template).extra(json!({"word": "haproxy"}));
    let rendering = rendered(&setup());
    let said = rendering.bundle.config.text.to_string();
    assert_eq!(
        said,
        "global\n  # daemon\n  # chroot /var/lib/haproxy\n  # user haproxy\n  # group haproxy # g\n  # uid 99\n  # gid 99\n  maxconn 9\n\
         userlist u\n  group g users anna\n  user anna password x\nglobal\n\t# daemon\n"
    );
    let told: Vec<String> = rendering.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 7, "{told:?}");
    assert!(
        told[1].contains("'chroot' in global is ignored") && told[1].contains("haproxyConfig:3"),
        "{told:?}"
    );
    let rendering = rendered(&by_api(setup()));
    assert_eq!(rendering.bundle.config.text.to_string(), template.replace("{{word}}", "haproxy"));
    assert!(rendering.warnings.is_empty());
}

/// A section that began in what is kept from the render before is still the section of what follows.
#[test]
fn a_kept_block_does_not_hide_the_section() {
    let template = "global\n{{#each (list \"ingresses\") as |o|}}\n  # {{o.metadata.name}}\n{{/each}}\n  daemon\nuserlist u\n\
        {{#each (list \"services\") as |o|}}\n  # {{o.metadata.name}}\n{{/each}}\n  user anna password x\n";
    let one = Setup::new(template).ingress("a", "one", "a.example", &[]).service("a", "s");
    let compiled = one.compile().unwrap();
    let (config, fleet) = (config(&one), Fleet::default());
    let mut renderer = Renderer::checked(Checked::Never);
    renderer
        .render(&RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots: &one.snapshots(),
            fleet: &fleet,
            limits: &one.limits,
        })
        .unwrap();
    let two = one.ingress("a", "two", "b.example", &[]);
    let again = renderer
        .render(&RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots: &two.snapshots(),
            fleet: &fleet,
            limits: &two.limits,
        })
        .unwrap();
    let said = again.bundle.config.text.to_string();
    assert_eq!(said, "global\n  # one\n  # two\n  # daemon\nuserlist u\n  # s\n  user anna password x\n");
    assert_eq!(again.warnings.len(), 1);
}
