import HoldfastCore
import Testing

/// Tests of network addresses and address blocks.
struct NetworkAddressTests {
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
    "1:2:3:4::5:6:7:8", "1.2..3.4", ".1.2.3.4", "1.2.3.4.", "00001::", "1:2:3:4:5:6:7:00008",
    "1:2:3:4:5:6:7.8.9.10:11", "::1.2.3.4:5",
    "fe80::1%eth0", "example.com",
  ])
  func `rejects invalid addresses`(text: String) {
    #expect(NetworkAddress(text) == nil)
  }

  @Test(arguments: [
    ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false),
    ("10.0.0.0/9", "10.127.0.1", true), ("10.0.0.0/9", "10.128.0.0", false),
    ("0.0.0.0/0", "1.2.3.4", true), ("0.0.0.0/0", "::1", false),
    ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7/32", "192.0.2.6", false),
    ("2001:db8::/33", "2001:db8:7fff::", true), ("2001:db8::/33", "2001:db8:8000::", false),
    ("::1", "::1", true), ("::ffff:10.0.0.0/104", "10.9.9.9", true),
    ("::ffff:10.0.0.0/104", "11.0.0.0", false),
  ])
  func `a block contains exactly the addresses with its prefix`(
    block: String, text: String, holds: Bool
  ) throws {
    let address = try #require(NetworkAddress(text))
    #expect(try #require(AddressBlock(block)).contains(address) == holds)
  }

  @Test(arguments: [
    "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::/129", "x/8", "10.0.0.0/8/8", "",
    "10.0.0.0/0008", "10.0.0.0/+8",
  ])
  func `rejects invalid address blocks`(text: String) {
    #expect(AddressBlock(text) == nil)
  }

  @Test(arguments: [
    ("localhost", true), ("LocalHost", true), ("localhost.", false), ("localhost.example", false),
    ("127.0.0.0", true), ("127.255.255.255", true), ("126.255.255.255", false),
    ("128.0.0.0", false),
    ("127.1", false), ("127.999.1.1", false), ("127.example", false), ("::1", true),
    ("[::1]", true),
    ("[0:0:0:0:0:0:0:1]", true), ("::2", false), ("1::1", false), ("::", false), ("0.0.0.0", false),
    ("[127.0.0.1", false), ("[]", false), ("", false), ("::ffff:127.0.0.1", true),
  ])
  func `recognizes loopback hosts`(host: String, isLoopback: Bool) {
    #expect(NetworkAddress.isLoopback(host: host) == isLoopback)
  }

  @Test(arguments: [
    ("8.8.8.8", true), ("1.1.1.1", true), ("9.255.255.255", true), ("11.0.0.0", true),
    ("100.63.255.255", true), ("100.128.0.0", true), ("172.15.255.255", true),
    ("172.32.0.0", true), ("192.167.255.255", true), ("192.169.0.0", true),
    ("223.255.255.255", true), ("2606:4700::1111", true), ("2a00::1", true),
    ("0.0.0.0", false), ("10.0.0.1", false), ("100.64.0.0", false), ("127.0.0.1", false),
    ("169.254.169.254", false), ("172.16.0.0", false), ("172.31.255.255", false),
    ("192.0.0.8", false), ("192.168.0.1", false), ("198.18.0.1", false), ("224.0.0.1", false),
    ("255.255.255.255", false), ("::", false), ("::1", false), ("::ffff:10.0.0.1", false),
    ("::ffff:8.8.8.8", true), ("64:ff9b::a00:1", false), ("fc00::1", false), ("fd12::1", false),
    ("fe80::1", false), ("fec0::1", false), ("ff02::1", false), ("2001:db8::1", false),
    ("2001::1", false), ("2002:a00:1::", false), ("4000::1", false),
  ])
  func `only addresses of the public Internet are global (RFC 6890)`(
    text: String, isGlobal: Bool
  ) throws {
    #expect(try #require(NetworkAddress(text)).isGlobal == isGlobal)
  }

  @Test(arguments: [
    ("[::1]", "::1"), ("[a]", "a"), ("[]", "[]"), ("[", "["), ("", ""), ("[::1", "[::1"),
    ("::1]", "::1]"), ("example.com", "example.com"),
  ])
  func `removes the brackets around a host`(host: String, bare: Substring) {
    #expect(NetworkAddress.withoutBrackets(host) == bare)
  }

  @Test(arguments: [
    ("0.0.0.0", true, false), ("::", true, true), ("0:0:0:0:0:0:0:0", true, true),
    ("0.0.0.1", false, false), ("::1", false, true), ("::ffff:0.0.0.0", true, false),
  ])
  func `recognizes unspecified addresses and their family`(text: String, isAll: Bool, isIPv6: Bool)
    throws
  {
    let address = try #require(NetworkAddress(text))
    #expect(address.isUnspecified == isAll)
    #expect(address.isIPv6 == isIPv6)
  }
}
