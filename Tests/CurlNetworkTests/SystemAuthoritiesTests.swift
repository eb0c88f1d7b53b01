import HoldfastTestKit
import Testing

@testable import HoldfastCurlNetwork

struct SystemAuthoritiesTests {
  @Test(arguments: [
    (["1a2b3c4d.0"], true), (["ca.pem", "00000000.12"], true), ([], false),
    (["ca-certificates.crt"], false), (["1a2b3c4d"], false), (["1a2b3c4d."], false),
    (["1a2b3c4.0"], false), (["1a2b3c4d5.0"], false), (["1A2B3C4D.0"], false),
    (["1a2b3c4d.r0"], false),
  ])
  func `a directory is used if it contains names that OpenSSL looks up`(
    names: [String], serves: Bool
  ) throws {
    let scratch = try Scratch()
    for name in names { try scratch.write([], to: name) }
    #expect(SystemAuthorities.isHashed(scratch.path) == serves)
  }

  @Test func `a missing directory is not used`() {
    #expect(!SystemAuthorities.isHashed("/nowhere/certs"))
  }
}
