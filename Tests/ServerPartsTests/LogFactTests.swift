import HoldfastCore
import HoldfastServerParts
import Testing

/// Tests of what a log shows of a request: the address and the trace.
struct LogFactTests {
  @Test(arguments: [
    ("203.0.113.9", "203.0.113.9", "203.0.113.0/24"), ("127.0.0.1", "127.0.0.1", "127.0.0.0/24"),
    ("::ffff:198.51.100.7", "198.51.100.7", "198.51.100.0/24"), ("::", "::", "::/48"),
    ("::1", "::1", "::/48"), ("2001:DB8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
    ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1", "2001:db8::/48"),
    ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1", "2001::/48"),
    ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1", "2001:db8::/48"),
    ("fe80:0:0:0:0:0:0:0", "fe80::", "fe80::/48"),
    ("0:0:1:2:3:4:5:6", "::1:2:3:4:5:6", "0:0:1::/48"),
  ])
  func `an address has one text, and a network`(given: String, text: String, network: String)
    throws
  {
    let address = try #require(NetworkAddress(given))
    #expect(address.text == text)
    #expect(NetworkAddress(address.text) == address)
    // `0:0:1::` has two runs of zeros, and the longest is compressed.
    #expect(address.networkText == network)
    let block = try #require(AddressBlock(address.networkText))
    #expect(block.contains(address))
  }

  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

  @Test func `the trace of a valid field is read`() {
    for flags in ["00", "01", "ff"] {
      #expect(TraceParent("00-\(Self.trace)-00f067aa0ba902b7-\(flags)")?.traceID == Self.trace)
    }
  }

  @Test(arguments: [
    "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
    "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-011",
    "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-00", "00-\u{E9}\u{E9}\u{E9}-x-01",
    " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  ])
  func `another field is ignored`(value: String) {
    #expect(TraceParent(value) == nil)
  }
}
