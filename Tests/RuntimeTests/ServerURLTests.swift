import HoldfastSocket
import Testing

/// Tests of the checks of URLs that an app supplies.
@Suite struct ServerURLTests {
  @Test func `a port above 65535 is refused with the limit`() throws {
    let problem = OpenError.configuration("the port of the URL must be at most 65535")
    #expect(throws: problem) { try Self.webSocketHost("wss://shop.example:99999/orders") }
    #expect(throws: problem) { try Self.webSocketHost("wss://shop.example:65536") }
    #expect(try Self.webSocketHost("wss://shop.example:65535") == "shop.example")
    #expect(throws: problem) { try Self.backendHost("https://shop.example:99999") }
    #expect(
      HoldfastPlatform.problem(ofURL: "https://shop.example:99999") == "Its port is above 65535.")
  }

  @Test func `a refused URL names the form of its kind`() throws {
    #expect(
      throws: OpenError.configuration(
        "the URL is not like wss://host[:port][/path], without a user or a fragment")
    ) { try Self.webSocketHost("wss://shop.example/orders#new") }
    #expect(
      throws: OpenError.configuration(
        "the URL is not like https://host[:port][/path], without a user, a query or a fragment")
    ) { try Self.backendHost("https://shop.example/?a=b") }
    #expect(
      throws: OpenError.configuration(
        "the scheme of the URL must be http or https, as in https://host/path")
    ) { try Self.backendHost("wss://shop.example") }
    #expect(try Self.webSocketHost("wss://shop.example/orders?a=b") == "shop.example")
  }

  private static func webSocketHost(_ url: String) throws(OpenError) -> String {
    try ServerURL.webSocketHost(url, allowsPlaintext: false)
  }

  private static func backendHost(_ url: String) throws(OpenError) -> String {
    try ServerURL.host(
      of: url, schemes: (plain: "http", secure: "https"), allowsQuery: false,
      allowsPlaintext: false)
  }
}
