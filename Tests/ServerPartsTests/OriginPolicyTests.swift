import HoldfastServerParts
import Testing

/// Tests for the hosts and origins that `OriginPolicy` admits.
struct OriginPolicyTests {
  @Test(arguments: ["", ":80", ":"])
  func `a host without a name is never admitted`(host: String) {
    var originPolicy = OriginPolicy()
    originPolicy.ownName = ""
    #expect(!originPolicy.admit(host: host))
  }

  /// React Native sends the server's own address as the origin of a WebSocket.
  @Test(arguments: [
    ("https://relay.example", true), ("http://relay.example", true),
    ("https://relay.example:443", true), ("http://relay.example:80", true),
    ("https://RELAY.example", true), ("https://relay.example:80", false),
    ("https://relay.example:8443", false), ("https://other.example:8443", true),
    ("https://other.example", false), ("wss://relay.example", false),
    ("https://relay.example.evil", false), ("https://elsewhere.example", false),
    ("https://192.0.2.2", true), ("http://192.0.2.2:8787", true), ("http://192.0.2.3", false),
    ("null", false), ("https://", false), ("https://:443", false),
  ])
  func `a page of one of the server's own names is admitted`(origin: String, isIn: Bool) {
    for isLocal in [true, false] {
      var originPolicy = OriginPolicy()
      originPolicy.isLocal = isLocal
      originPolicy.ownName = "192.0.2.2"
      originPolicy.hosts = ["relay.example", "other.example:8443"]
      #expect(originPolicy.admit(origin: origin) == isIn)
    }
  }
}
