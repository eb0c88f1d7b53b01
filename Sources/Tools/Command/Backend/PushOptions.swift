import CommandKit
import HoldfastBackend

/// The options of `serve` that say how phones in background are woken.
enum PushOptions {
  static let key = Parameter.optional(
    "apns-key", .text("FILE"), "wake iPhones with this .p8 key of Apple's push service (mode 600)")
  static let keyID = Parameter.optional(
    "apns-key-id", .text("ID"), "the key's id, 10 characters")
  static let team = Parameter.optional(
    "apns-team", .text("ID"), "the team's id, 10 characters")
  static let topic = Parameter.optional(
    "apns-topic", .text("BUNDLE"), "the app's bundle id")
  static let service = Parameter.optional(
    "apns-url", .text("URL"), usual: "Apple's services",
    "push through this service, https only, in place of Apple's")
  static let authority = Parameter.optional(
    "apns-ca", .text("FILE"), "trust this PEM authority too for the push service")
  static let hook = Parameter.optional(
    "push-hook", .text("PROGRAM"),
    "run this program for each push to a hook address, with a JSON line on its standard input; its "
      + "exit code says what became of it: 0 delivered, 67 gone, 75 later")

  /// What the options say together.
  static func read(_ call: Invocation) throws(CommandFailure) -> PushConfiguration {
    var configuration = PushConfiguration()
    configuration.hook = call[hook]
    if let url = call[service], !url.hasPrefix("https://") {
      throw CommandFailure(
        .usage, "--apns-url must be an https URL", remedy: "the push service speaks TLS only")
    }
    switch (call[key], call[keyID], call[team], call[topic]) {
    case (nil, nil, nil, nil): break
    case (let key?, let keyID?, let team?, let topic?):
      configuration.apns = PushConfiguration.APNs(
        keyPath: key, keyID: keyID, team: team, topic: topic, service: call[service],
        authorities: call[authority])
    case (_, _, _, _):
      throw CommandFailure(
        .usage, "APNs needs a key, its id, the team and the topic",
        remedy: "give --apns-key, --apns-key-id, --apns-team and --apns-topic together")
    }
    return configuration
  }
}
