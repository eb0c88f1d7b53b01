import HoldfastBackend
import HoldfastCommandKit
import HoldfastCommandParts

/// The options of `serve` for waking phones in the background.
enum PushOptions {
  static let key = Parameter.optional(
    "apns-key", .text("FILE"),
    "wake iPhones with this .p8 key for Apple's push service (APNs); its mode must be 600")
  static let keyID = Parameter.optional(
    "apns-key-id", .text("ID"), "the key's id, 10 characters")
  static let team = Parameter.optional(
    "apns-team", .text("ID"), "the team's id, 10 characters")
  static let topic = Parameter.optional(
    "apns-topic", .text("BUNDLE"), "the app's bundle id")
  static let service = Parameter.optional(
    "apns-url", .text("URL"), usual: "Apple's services",
    "use this push service (https only) instead of Apple's")
  static let authority = Parameter.optional(
    "apns-ca", .text("FILE"), "also trust the authority in this PEM file for the push service")
  static let hook = Parameter.optional(
    "push-hook", .text("PROGRAM"),
    "run this program for each push to a hook address, with one JSON line on its standard input; "
      + "its exit status: 0 delivered, 67 address no longer valid, 75 retry later")

  /// Returns the configuration that the options select.
  ///
  /// - Throws: A failure if the options contradict each other.
  static func read(_ call: Invocation) throws(CommandFailure) -> PushConfiguration {
    var configuration = PushConfiguration()
    if let path = call[authority] { try CertificateFile.check(path, option: "--apns-ca") }
    configuration.hook = call[hook]
    if let url = call[service], !url.hasPrefix("https://") {
      throw CommandFailure(
        .usage, "--apns-url must be an https URL", remedy: "the push service requires TLS")
    }
    switch (call[key], call[keyID], call[team], call[topic]) {
    case (nil, nil, nil, nil): break
    case (let key?, let keyID?, let team?, let topic?):
      configuration.apns = PushConfiguration.APNs(
        keyPath: key, keyID: keyID, team: team, topic: topic, service: call[service],
        authorities: call[authority])
    case (_, _, _, _):
      throw CommandFailure(
        .usage, "APNs needs a key, the key's id, the team's id and the app's bundle id",
        remedy: "use --apns-key, --apns-key-id, --apns-team and --apns-topic together")
    }
    return configuration
  }

  /// Returns the failure for an error of the key or the hook.
  static func failure(_ error: BackendError) -> CommandFailure {
    guard case .openToOthers(let path) = error else { return CommandFailure(error) }
    return CommandFailure(.failed, error.description, remedy: "run chmod 600 \(path)")
  }
}
