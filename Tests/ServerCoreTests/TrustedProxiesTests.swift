import LinkServerCore
import Testing

/// Addresses, blocks of them, and the client behind a proxy.
struct TrustedProxiesTests {
  @Test(arguments: [
    ("127.0.0.1", "7f000001"), ("255.255.255.255", "ffffffff"), ("::ffff:10.0.0.1", "0a000001"),
    ("2001:db8:1:2:3:4:5:6", "20010db800010002"), ("::1", "0000000000000000"),
    ("2001:DB8::", "20010db800000000"), ("1::2:3:4:5:6.7.8.9", "0001000000020003"),
  ])
  func `reads addresses of both families`(text: String, origin: String) {
    #expect(NetworkAddress(text)?.origin == origin)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.+4", ":", ":::", "1::2::3",
    "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "g::", "::1.2.3", "1.2.3.4::",
    "1:2:3:4::5:6:7:8",
    "fe80::1%eth0", "example.com",
  ])
  func `refuses what is no address`(text: String) {
    #expect(NetworkAddress(text) == nil)
  }

  @Test(arguments: [
    ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false),
    ("10.0.0.0/9", "10.127.0.1", true), ("10.0.0.0/9", "10.128.0.0", false),
    ("0.0.0.0/0", "1.2.3.4", true), ("0.0.0.0/0", "::1", false),
    ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7/32", "192.0.2.6", false),
    ("2001:db8::/33", "2001:db8:7fff::", true), ("2001:db8::/33", "2001:db8:8000::", false),
    ("::1", "::1", true), ("::ffff:10.0.0.0/104", "10.9.9.9", true),
  ])
  func `a block holds the addresses of its prefix`(block: String, text: String, holds: Bool) throws
  {
    let address = try #require(NetworkAddress(text))
    #expect(try #require(AddressBlock(block)).contains(address) == holds)
  }

  @Test(arguments: ["10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::/129", "x/8", "10.0.0.0/8/8", ""])
  func `refuses what is no block`(text: String) {
    #expect(AddressBlock(text) == nil)
  }

  @Test(arguments: [
    // No proxy: what the client wrote does not count.
    (Case("203.0.113.9", for: ["192.0.2.1"]), "203.0.113.9"),
    (Case("10.0.0.1"), "10.0.0.1"),
    (Case("10.0.0.1", for: ["192.0.2.1"]), "192.0.2.1"),
    (Case("10.0.0.1", for: ["192.0.2.1:4711"]), "192.0.2.1"),
    (Case("10.0.0.1", for: ["2001:db8::5"]), "2001:db8::5"),
    // From right to left, until an address that is no proxy's.
    (Case("10.0.0.1", for: ["6.6.6.6, 192.0.2.1"]), "192.0.2.1"),
    (Case("10.0.0.1", for: ["6.6.6.6", "192.0.2.1, 10.0.0.2"]), "192.0.2.1"),
    (Case("10.0.0.1", for: ["10.0.0.3, 10.0.0.2"]), "10.0.0.3"),
    (Case("10.0.0.1", for: ["6.6.6.6, unknown, 10.0.0.2"]), "10.0.0.2"),
    (Case("10.0.0.1", for: [""]), "10.0.0.1"),
    (Case("10.0.0.1", forwarded: ["for=192.0.2.1;proto=https;by=10.0.0.1"]), "192.0.2.1"),
    (Case("10.0.0.1", forwarded: [#"For="[2001:db8::5]:4711""#]), "2001:db8::5"),
    (Case("10.0.0.1", forwarded: [#"for="x,y", for=192.0.2.1"#]), "192.0.2.1"),
    (Case("10.0.0.1", forwarded: ["for=6.6.6.6, for=_hidden"]), "10.0.0.1"),
    (Case("10.0.0.1", forwarded: ["proto=https"]), "10.0.0.1"),
    (Case("::1", forwarded: ["for=192.0.2.1"]), "192.0.2.1"),
    // One of two fields passed a proxy unread: neither counts.
    (Case("10.0.0.1", for: ["192.0.2.1"], forwarded: ["for=6.6.6.6"]), "10.0.0.1"),
    (Case("10.0.0.1", for: ["192.0.2.1"], forwarded: ["for=192.0.2.1"]), "192.0.2.1"),
  ])
  func `the client is whom the nearest trusted proxy names`(given: Case, wanted: String) throws {
    var proxies = TrustedProxies()
    proxies.blocks = ["10.0.0.0/8", "::1"].compactMap { AddressBlock($0) }
    let found = proxies.client(
      of: try #require(NetworkAddress(given.peer)), forwarded: given.forwarded,
      forwardedFor: given.forwardedFor)
    #expect(found == NetworkAddress(wanted))
  }

  @Test func `looks at the nearest 32 addresses only`() throws {
    var proxies = TrustedProxies()
    proxies.blocks = [try #require(AddressBlock("10.0.0.0/8"))]
    let peer = try #require(NetworkAddress("10.0.0.1"))
    for (count, wanted) in [(31, "192.0.2.1"), (32, "10.0.0.2")] {
      let chain = ["192.0.2.1"] + Array(repeating: "10.0.0.2", count: count)
      let found = proxies.client(of: peer, forwarded: [], forwardedFor: chain)
      #expect(found == NetworkAddress(wanted))
    }
  }

  struct Case: Sendable {
    var peer: String
    var forwardedFor: [String]
    var forwarded: [String]

    init(_ peer: String, for forwardedFor: [String] = [], forwarded: [String] = []) {
      (self.peer, self.forwardedFor, self.forwarded) = (peer, forwardedFor, forwarded)
    }
  }
}
