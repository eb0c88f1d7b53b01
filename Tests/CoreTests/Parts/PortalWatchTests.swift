import HoldfastCore
import Testing

/// Tests of the check for a captive portal's login page.
@Suite struct PortalWatchTests {
  @Test func `the times of the portal check have a lower bound`() {
    for (key, least, less) in [
      ("gate.portalProbe", "100ms", "99ms"), ("gate.portalWait", "1s", "999ms"),
    ] {
      #expect(throws: Never.self) { try LinkPolicy.session.setting([(key, least)]) }
      #expect(throws: PolicyError.self) { try LinkPolicy.session.setting([(key, less)]) }
      #expect(throws: PolicyError.self) { try LinkPolicy.socket.setting([(key, least)]) }
    }
    #expect(throws: Never.self) { try LinkPolicy.session.setting([("gate.portalProbe", "off")]) }
    #expect(throws: PolicyError.self) {
      try LinkPolicy.session.setting([("gate.portalProbe", "soon")])
    }
  }
}
