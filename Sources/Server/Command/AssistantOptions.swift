import HoldfastAssistants
import HoldfastBackend
import HoldfastCommandKit
import HoldfastCore
import HoldfastRelayServer

/// The options of `serve` for assistants.
enum AssistantOptions {
  static let publicURL = Parameter.optional(
    "public-url", .publicURL, usual: "no OAuth",
    "the address under which clients reach this backend; assistants then sign in at /mcp with "
      + "OAuth, on a page that asks for the word and code; /mcp/code has the login as a tool")
  static let life = Parameter.optional(
    "assistant-life", .duration(.seconds(7_200) ... .seconds(90 * 86_400)),
    usual: "2h from the login",
    "end the login of an assistant by word and code after this time without a question; a sign-in "
      + "with OAuth ends after 30 days without use")

  /// Stores the values of the options.
  static func read(_ call: Invocation, into configuration: inout BackendConfiguration) {
    configuration.publicURL = call[publicURL]
    guard let life = call[life] else { return }
    configuration.relay.tokenLife = life
    configuration.relay.renewsTokens = true
    configuration.assistants.idle = life
  }
}

extension Format<PublicURL> {
  /// The format for the public address of a backend.
  fileprivate static let publicURL = Format(
    placeholder: "URL",
    expectation: "an https address without a path, such as https://relay.example, or http on this "
      + "machine"
  ) {
    PublicURL($0)
  }
}
