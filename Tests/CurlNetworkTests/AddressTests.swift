import LinkCore
import Testing

@testable import CurlNetwork

@Suite struct AddressTests {
  private static let schemes = ["ws": false, "wss": true]

  @Test(arguments: [
    ("wss://Shop.example", "Shop.example", "https://Shop.example:443/?t=%201"),
    ("wss://shop.example:443/", "shop.example", "https://shop.example:443/?t=%201"),
    ("ws://127.0.0.1:80/a/../b", "127.0.0.1", "http://127.0.0.1:80/b?t=%201"),
    ("ws://[::1]:8080/x?y=z#f", "[::1]:8080", "http://[::1]:8080/x?y=z&t=%201"),
  ])
  func `a URL is taken apart as libcurl does`(
    url: String, authority: String, whole: String
  ) throws {
    let address = try Address(url, query: [("t", " 1")], schemes: Self.schemes)
    #expect(address.authority == authority)
    #expect(address.url == whole)
  }

  @Test(arguments: [
    "", "nonsense", "http://a", "ws://", "wss://u:p@host/", "wss://host:99999/", "wss://a b/",
    "wss://host/ x",
  ])
  func `what cannot be dialed is this device's fault`(url: String) {
    #expect {
      try Address(url, query: [], schemes: Self.schemes)
    } throws: { error in
      guard case .local = error as? LinkFailure else { return false }
      return true
    }
  }

  @Test(arguments: [
    ("ws://localhost", true), ("ws://LOCALHOST", true), ("ws://127.0.0.1", true),
    ("ws://127.255.255.255", true), ("ws://[::1]", true), ("ws://126.255.255.255", false),
    ("ws://128.0.0.1", false), ("ws://[::2]", false), ("ws://127.0.0.1.example", false),
    ("ws://localhost.example", false), ("ws://[::ffff:127.0.0.1]", true),
    ("ws://[::ffff:126.0.0.1]", false), ("ws://0.0.0.0", false),
  ])
  func `loopback is what never leaves this device`(url: String, isLoopback: Bool) throws {
    #expect(try Address(url, query: [], schemes: Self.schemes).isLoopback == isLoopback)
  }

  @Test func `all but the unreserved characters are encoded`() {
    #expect(Address.encoded("AZaz09-._~") == "AZaz09-._~")
    #expect(Address.encoded(" !&=+%/?#ä\u{0}") == "%20%21%26%3D%2B%25%2F%3F%23%C3%A4%00")
  }
}
