import HoldfastCore
import Testing

@testable import HoldfastCurlNetwork

@Suite struct AddressTests {
  private static let schemes = ["ws": false, "wss": true]

  @Test(arguments: [
    ("wss://Shop.example", "Shop.example", "https://Shop.example:443/?t=%201"),
    ("wss://shop.example:443/", "shop.example", "https://shop.example:443/?t=%201"),
    ("ws://127.0.0.1:80/a/../b", "127.0.0.1", "http://127.0.0.1:80/b?t=%201"),
    ("ws://[::1]:8080/x?y=z#f", "[::1]:8080", "http://[::1]:8080/x?y=z&t=%201"),
  ])
  func `a URL is parsed as libcurl parses it`(
    url: String, authority: String, whole: String
  ) throws {
    let address = try Address(url, query: [("t", " 1")], schemes: Self.schemes)
    #expect(address.authority == authority)
    #expect(address.url == whole)
  }

  /// Uses RFC 3492 section 7.1 (L) and the examples of RFC 5891 and of ICANN's test domains.
  @Test(arguments: [
    ("wss://b\u{FC}cher.example/", "xn--bcher-kva.example"),
    (
      "wss://3\u{5E74}B\u{7D44}\u{91D1}\u{516B}\u{5148}\u{751F}.example/",
      "xn--3b-ww4c5e180e575a65lsy2b.example"
    ),
    ("wss://\u{4F8B}\u{3048}.\u{30C6}\u{30B9}\u{30C8}/", "xn--r8jz45g.xn--zckzah"),
    ("wss://b%C3%BCcher.example/", "xn--bcher-kva.example"),
  ])
  func `an international host name is sent in ASCII`(url: String, host: String) throws {
    let address = try Address(url, query: [], schemes: Self.schemes)
    #expect(address.host == host)
    #expect(address.url == "https://\(host):443/")
    #expect(CurlNetwork.problem(ofURL: url) == nil)
  }

  @Test func `an invalid host name or URL is reported before it is dialed`() {
    let label = String(repeating: "\u{FC}", count: 64)
    for url in ["wss://\(label).example/", "https://\u{2FF0}.example/", "wss://a b/", "ftp://a/"] {
      #expect(CurlNetwork.problem(ofURL: url) != nil, "\(url)")
    }
    #expect(CurlNetwork.problem(ofURL: "http://[::1]:8080/a") == nil)
  }

  @Test(arguments: [
    "", "nonsense", "http://a", "ws://", "wss://u:p@host/", "wss://host:99999/", "wss://a b/",
    "wss://host/ x",
  ])
  func `an invalid URL is a local failure`(url: String) {
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
  func `only an address that never leaves this device is loopback`(url: String, isLoopback: Bool)
    throws
  {
    #expect(try Address(url, query: [], schemes: Self.schemes).isLoopback == isLoopback)
  }

  @Test func `all but the unreserved characters are encoded`() {
    #expect(Address.encoded("AZaz09-._~") == "AZaz09-._~")
    #expect(Address.encoded(" !&=+%/?#ä\u{0}") == "%20%21%26%3D%2B%25%2F%3F%23%C3%A4%00")
  }
}
