//! The journeys: what happens to a user, from a change in Kubernetes to HAProxy's answers. Run them with `make journeys`.
#![allow(clippy::indexing_slicing, reason = "a missing field of a JSON value reads as null")]

mod attack;
mod bad_input;
mod by_hand;
mod chart;
mod churn;
mod classic;
mod configuration;
mod credentials;
mod data_plane_api;
mod data_plane_api_answers;
mod destinations;
mod drift;
mod express;
mod failures;
mod findings;
mod fleet;
mod former_tests;
mod gateway;
mod getting_started;
mod handover;
mod harness;
mod health;
mod holds;
mod hostile;
mod incidents;
mod leader;
mod libraries;
mod limits;
mod literal_paths;
mod mass_deletion;
mod metrics;
mod named;
mod observers;
mod original;
mod pages;
mod plan;
mod published;
mod quarantine;
mod recording;
mod removal;
mod reports;
mod restarts;
mod rights;
mod routes;
mod screenshots;
mod secrets;
mod slow_checks;
mod traces;
mod two_versions;
mod upgrade;
mod webhook;
mod worst;
mod zero_reload;

use integration_tests::{
    Journey, journey, over_both,
    program::{self, HaproxySeries, Helm},
    runner,
};
use std::process::ExitCode;

/// The long ones first: several run at once.
fn journeys() -> Vec<Journey> {
    let mut all = through_agents();
    all.extend(deployments().into_iter().flatten());
    all.extend(data_plane_api::journeys());
    if std::env::var_os(screenshots::FOLDER).is_some() {
        all.push(journey("screenshots", screenshots::of_the_page));
    }
    // Such a program takes minutes to build: `make upgrade`.
    if std::env::var_os(program::EARLIER).is_some() {
        all.extend(over_both("upgrade_of_the_controller", upgrade::of_the_controller));
        all.push(journey("upgrade_of_the_agent", upgrade::of_the_agent));
    }
    all
}

fn through_agents() -> Vec<Journey> {
    vec![
        journey("api_server_away_for_a_minute", failures::api_server_away_for_a_minute),
        journey("api_server_connections_die", failures::api_server_connections_die),
        journey("leader_killed", leader::killed_again_and_again),
        journey("chart_install", |scene| chart::install(scene, Helm::V3)),
        journey("chart_install_by_helm_4", |scene| chart::install(scene, Helm::V4)),
        journey("chart_autoscaled", |scene| chart::autoscaled(scene, Helm::V3)),
        journey("chart_autoscaled_by_helm_4", |scene| chart::autoscaled(scene, Helm::V4)),
        journey("chart_combinations", chart::combinations),
        journey("gateway_statuses", gateway::statuses),
        journey("gateway_rollouts_and_solvers", gateway::rollouts_and_solvers).alone(),
        journey("published_state", published::state),
        journey("published_of_a_configuration_made_again", published::of_a_configuration_made_again),
        journey("metrics_of_ten_thousand_ingresses", metrics::of_ten_thousand_ingresses),
        journey("getting_started_in_a_cluster", getting_started::in_a_cluster),
        journey("getting_started_without_a_cluster", getting_started::without_a_cluster),
        journey("chart_side_by_side", chart::side_by_side),
        journey("installed_by_hand", by_hand::as_documented),
        journey("any_actor_may_block", health::any_actor_may_block),
        journey("any_actor_may_panic", restarts::any_actor_may_panic),
        journey("trace_of_a_generation", traces::of_a_generation),
        journey("observers_change_nothing", observers::change_nothing),
        journey("actor_that_fails_too_often", health::actor_that_fails_too_often),
        journey("webhook_outlives_its_endpoint", webhook::outlives_its_endpoint),
        journey("webhook_answers_all_that_it_was_asked", webhook::answers_all_that_it_was_asked),
        journey("asked_to_end_at_each_stage", health::asked_to_end_at_each_stage),
        journey("credentials_rotated", credentials::rotated),
        journey("credentials_lost", credentials::lost),
        journey("no_definition_of_the_configuration", bad_input::no_definition_of_the_configuration),
        journey("classic", classic::classic),
        journey("original_design", original::design),
        journey("no_permission", bad_input::no_permission),
        journey("leader_api_server_away", leader::api_server_away),
        journey("leader_etcd_restored", leader::etcd_restored),
        journey("leader_crashed_and_back", leader::crashed_and_back),
        journey("leader_frozen", leader::frozen_for_longer_than_its_lease),
        journey("dataplaneapi_leader_frozen_during_a_push", leader::frozen_during_a_push),
        journey("leader_hands_over", leader::hands_over_when_asked_to_end),
        journey("leader_lease_deleted", leader::lease_deleted),
        journey("leader_lease_edited", leader::lease_edited),
        journey("leader_status", reports::status),
        journey("leader_status_of_what_is_in_force", reports::status_of_what_is_in_force),
        journey("leader_status_of_an_invalid_one", reports::status_without_a_valid_configuration),
        journey("leader_with_the_documented_rights", reports::with_the_documented_rights),
        journey("leader_events", reports::events_on_the_object_at_fault),
        journey("leader_findings", findings::told_once_and_gone_with_their_cause),
        journey("leader_addresses", reports::addresses_of_ingresses),
        journey("secrets_planted_are_in_no_output", secrets::planted_ones_are_in_no_output),
        journey("secrets_only_named_ones_are_read", named::only_named_ones_are_read),
        journey("recording_is_replayed_elsewhere", recording::is_replayed_elsewhere),
        journey("webhook_under_attack_by_strangers", attack::by_strangers),
        journey("webhook_under_attack_by_insiders", attack::by_insiders),
        journey("webhook_certificate_is_rotated", webhook::certificate_is_rotated_under_it),
        journey("webhook_path_that_was_shown", webhook::path_that_was_shown_leads_nowhere),
        journey("webhook_refuses_what_is_bad", webhook::refuses_what_is_bad),
        journey("webhook_with_the_documented_rights", webhook::with_the_documented_rights),
        journey("webhook_asked_for_by_a_resource_alone", webhook::asked_for_by_a_resource_alone),
        journey("webhook_asked_by_many_at_once", webhook::asked_by_many_at_once),
        journey("webhook_is_repaired", webhook::is_repaired_and_blocks_nothing_when_it_is_down),
        journey("webhook_is_asked_by_the_api_server_alone", webhook::is_asked_by_the_api_server_alone),
        journey("incident_of_objects", incidents::of_objects),
        journey("incident_of_pods", incidents::of_pods),
        journey("incident_of_configuration", incidents::of_configuration),
        journey("incident_of_rights", incidents::of_rights),
        journey("incident_of_webhook", incidents::of_webhook),
        journey("incident_of_lease", incidents::of_lease),
        journey("pages_answer_without_secrets", pages::answer_without_secrets),
        journey("pages_have_the_keys_of_before", pages::have_the_keys_of_before),
        journey("hostile_objects", hostile::objects),
        journey("hostile_worst_objects_are_taken", worst::objects_are_taken),
        journey("hostile_worst_gateways_are_taken", worst::gateways_are_taken),
        journey("hostile_worst_objects_in_a_cluster", worst::objects_in_a_cluster).alone(),
        journey("hostile_worst_objects_within_a_container", worst::objects_within_a_container).alone(),
        journey("quarantine_by_the_render", quarantine::found_by_the_render),
        journey("quarantine_by_checks", quarantine::found_by_checks),
        journey("quarantine_by_halves", quarantine::found_by_halves),
        journey("quarantine_after_a_restart", quarantine::after_a_restart),
        journey("quarantine_by_an_operation", quarantine::found_by_an_operation),
        journey("quarantine_under_attack", quarantine::under_attack),
        journey("mass_deletion_is_held", mass_deletion::is_held_until_it_is_mended),
        journey("mass_deletion_is_confirmed", mass_deletion::is_confirmed_by_an_annotation),
        journey("mass_deletion_is_over_after_a_while", mass_deletion::is_over_after_a_while),
        journey("limits_junk_of_one_namespace", limits::junk_of_one_namespace),
        journey("harness", harness::parts_work_without_a_controller),
        journey("first_deployment", |scene| routes::first_deployment(scene, HaproxySeries::V3_4)),
        journey("first_deployment_on_haproxy_3_2", |scene| {
            routes::first_deployment(scene, HaproxySeries::V3_2)
        }),
        journey("first_deployment_on_haproxy_3_0", |scene| {
            routes::first_deployment(scene, HaproxySeries::V3_0)
        }),
        journey("default_certificate", libraries::default_certificate),
        journey("rejected_routes", libraries::rejected_routes),
        journey("wrong_annotation", libraries::wrong_annotation),
        journey("external_names", destinations::external_names),
        journey("own_ports_are_no_servers", destinations::own_ports_are_no_servers),
        journey("everyday_changes_without_a_reload", zero_reload::everyday_changes),
        journey("canaries_and_conditions_without_a_reload", zero_reload::canaries_and_conditions),
        journey("express_or_checked_first", express::or_checked_first),
        journey("express_refused_alone", express::refused_alone),
        journey("express_refused_in_turn", express::refused_in_turn),
        journey("plan_tells_before_it_happens", plan::tells_before_it_happens),
        journey("removal_on_haproxy_3_0", |scene| removal::leaves_nothing_behind(scene, HaproxySeries::V3_0)),
        journey("config_invalid_then_recovered", configuration::invalid_then_recovered),
        journey("config_with_invalid_template", configuration::invalid_template),
        journey("tests_stored_as_a_map", former_tests::in_a_map_are_taken_and_left_behind),
        journey("unknown_resource", bad_input::unknown_resource),
        journey("no_configuration_and_no_secret", bad_input::no_configuration_and_no_secret),
        journey("no_definition_of_a_watched_resource", bad_input::no_definition_of_a_watched_resource),
        journey("port_in_use", bad_input::port_in_use),
        journey("host_held_over_restarts", holds::host_held_over_restarts),
        journey("controller_killed_while_ahead", restarts::controller_killed_before_files_are_stored),
        journey("controller_stops_when_asked", restarts::controller_stops_when_asked),
    ]
}

/// What must go the same way whatever brings it to HAProxy.
fn deployments() -> Vec<[Journey; 2]> {
    vec![
        over_both("churn_under_load", churn::under_load),
        over_both("leader_election_off_and_on", leader::election_turned_off_and_on),
        over_both("leader_killed_at_each_stage", handover::leader_killed_at_each_stage),
        over_both("one_slow_pod_of_two", failures::one_slow_pod_of_two),
        over_both("quarantine_by_a_reload", quarantine::found_by_a_reload),
        over_both("fleet_with_a_hanging_agent", fleet::with_a_hanging_agent),
        over_both("fleet_of_two_versions", fleet::of_two_versions),
        over_both("haproxy_killed_while_changes_flow", churn::haproxy_killed_meanwhile),
        over_both("agent_killed_while_changes_flow", churn::agent_killed_meanwhile),
        over_both("controller_killed_while_changes_flow", churn::controller_killed_meanwhile),
        over_both("literal_paths", literal_paths::lead_to_files_that_are_rendered),
        over_both("endpoint_change", routes::endpoint_change),
        over_both("new_host", routes::new_host),
        over_both("certificate_rotation", routes::certificate_rotation),
        over_both("delete", routes::delete),
        over_both("removal", |scene| removal::leaves_nothing_behind(scene, HaproxySeries::V3_4)),
        over_both("drift_changed_by_hand", drift::changed_by_hand),
        over_both("config_changed_live", configuration::changed_live),
        over_both("config_that_haproxy_refuses", configuration::refused_by_haproxy),
        over_both("config_that_a_check_refuses", configuration::refused_by_check),
        over_both("config_that_a_render_refuses", configuration::refused_by_render),
        over_both("endpoints_before_structure", express::endpoints_before_structure),
        over_both("malformed_object", configuration::malformed_object),
        over_both("haproxy_killed", failures::haproxy_killed),
        over_both("agent_killed", failures::agent_killed),
        over_both("pod_replaced", failures::pod_replaced),
        over_both("controller_killed_and_restarted", restarts::controller_killed_and_restarted),
    ]
}

fn main() -> ExitCode {
    runner::main(&journeys())
}
