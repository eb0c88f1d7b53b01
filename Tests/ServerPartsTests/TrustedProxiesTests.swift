import HoldfastCore
import HoldfastServerParts
import Testing

/// Tests for finding the address of a client behind trusted proxies.
struct TrustedProxiesTests {
  @Test(arguments: [
    // The peer is not a proxy, so the field is ignored.
    (Case("203.0.113.9", for: ["192.0.2.1"]), "203.0.113.9"),
    (Case("10.0.0.1"), "10.0.0.1"),
    (Case("10.0.0.1", for: ["192.0.2.1"]), "192.0.2.1"),
    (Case("10.0.0.1", for: ["192.0.2.1:4711"]), "192.0.2.1"),
    (Case("10.0.0.1", for: ["2001:db8::5"]), "2001:db8::5"),
    // Addresses are read from right to left, up to the first one that is not a proxy's.
    (Case("10.0.0.1", for: ["6.6.6.6, 192.0.2.1"]), "192.0.2.1"),
    (Case("10.0.0.1", for: ["6.6.6.6", "192.0.2.1, 10.0.0.2"]), "192.0.2.1"),
    (Case("10.0.0.1", for: ["10.0.0.3, 10.0.0.2"]), "10.0.0.3"),
    (Case("10.0.0.1", for: ["6.6.6.6, unknown, 10.0.0.2"]), "10.0.0.2"),
    (Case("10.0.0.1", for: [""]), "10.0.0.1"),
    (Case("10.0.0.1", for: ["6.6.6.6, , 10.0.0.2"]), "10.0.0.2"),
    (Case("10.0.0.1", for: ["6.6.6.6,,10.0.0.2"]), "10.0.0.2"),
    (Case("10.0.0.1", forwarded: ["for=192.0.2.1;proto=https;by=10.0.0.1"]), "192.0.2.1"),
    (Case("10.0.0.1", forwarded: [#"For="[2001:db8::5]:4711""#]), "2001:db8::5"),
    (Case("10.0.0.1", forwarded: [#"for="x,y", for=192.0.2.1"#]), "192.0.2.1"),
    (Case("10.0.0.1", forwarded: ["for=6.6.6.6, for=_hidden"]), "10.0.0.1"),
    // An escaped quote does not end a quoted string, and only a port may follow a bracket.
    (Case("10.0.0.1", forwarded: [#"for="x\", for=6.6.6.6", for=192.0.2.1"#]), "192.0.2.1"),
    (Case("10.0.0.1", forwarded: [#"for=192.0.2.1;by="x\", for=6.6.6.6""#]), "192.0.2.1"),
    (Case("10.0.0.1", forwarded: [#"for="[2001:db8::5]6""#]), "10.0.0.1"),
    (Case("10.0.0.1", forwarded: ["proto=https"]), "10.0.0.1"),
    // A name or a value is missing, a value has more than an address, or a quote is not escaped.
    (Case("10.0.0.1", forwarded: ["=for=6.6.6.6"]), "10.0.0.1"),
    (Case("10.0.0.1", forwarded: ["for=;for=6.6.6.6"]), "10.0.0.1"),
    (Case("10.0.0.1", forwarded: [#"for=x6.6.6.6:"""#]), "10.0.0.1"),
    (Case("10.0.0.1", forwarded: [#"for=6.6.6.6;x=\""#]), "10.0.0.1"),
    // An unpaired quote makes its line one entry without an address, so that a client cannot hide
    // what the proxy appends.
    (Case("10.0.0.1", forwarded: [#"for=6.6.6.6;x=", for=192.0.2.1"#]), "10.0.0.1"),
    (Case("10.0.0.1", forwarded: [#"for=6.6.6.6;x=", for="[2001:db8::5]""#]), "10.0.0.1"),
    (Case("10.0.0.1", forwarded: [#"for=6.6.6.6;x=""#, "for=192.0.2.1"]), "192.0.2.1"),
    (Case("10.0.0.1", forwarded: [#"for=6.6.6.6;x=""#, "for=192.0.2.1"]), "192.0.2.1"),
    (Case("10.0.0.1", forwarded: [#"for="6.6.6.6, for=192.0.2.1"#]), "10.0.0.1"),
    (Case("10.0.0.1", forwarded: [#"for=6.6.6.6", for="192.0.2.1"#]), "10.0.0.1"),
    (Case("::1", forwarded: ["for=192.0.2.1"]), "192.0.2.1"),
    // If the two fields differ, a proxy has forwarded one of them unread, so both are ignored.
    (Case("10.0.0.1", for: ["192.0.2.1"], forwarded: ["for=6.6.6.6"]), "10.0.0.1"),
    (Case("10.0.0.1", for: ["192.0.2.1"], forwarded: ["for=192.0.2.1"]), "192.0.2.1"),
  ])
  func `the client is the address that the nearest trusted proxy names`(
    given: Case, wanted: String
  ) throws {
    var proxies = TrustedProxies()
    proxies.blocks = ["10.0.0.0/8", "::1"].compactMap { AddressBlock($0) }
    let found = proxies.client(
      of: try #require(NetworkAddress(given.peer)), forwarded: given.forwarded,
      forwardedFor: given.forwardedFor)
    #expect(found == NetworkAddress(wanted))
  }

  @Test func `reads only the nearest 32 addresses`() throws {
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
