import LinkCore
import Testing

/// The decision whether an answer is a login page.
@Suite struct PortalWatchTests {
  @Test(
    arguments: [
      (200, "application/json", nil, false), (200, "text/plain", nil, false),
      (200, nil, nil, false),
      (200, "text/html; charset=utf-8", nil, true), (511, nil, nil, true),
      (302, nil, "http://login.example/", true), (302, nil, "https://LOGIN.example?to=x", true),
      (307, nil, "//login.example/", true), (302, nil, "http://me@login.example:80", true),
      (301, nil, "https://server.example/healthz", false),
      (301, nil, "https://SERVER.example:8443/healthz", false),
      (302, nil, "/login?to=//login.example", false), (302, nil, nil, false),
      (302, nil, "/login?to=https://login.example/", false),
      (404, "text/html", nil, false), (400, "text/plain", nil, false), (503, nil, nil, false),
    ] as [(Int, String?, String?, Bool)])
  func `a redirect to another host, a page for people and 511 are login pages`(
    status: Int, type: String?, location: String?, isPortal: Bool
  ) {
    #expect(
      PortalWatch.isLoginPage(
        status: status, contentType: type, location: location, host: "server.example") == isPortal)
  }

  @Test func `a server at an address of IPv6 redirects to itself`() {
    for (location, isPortal) in [("http://[::1]:80/a", false), ("http://[::2]/", true)] {
      #expect(
        PortalWatch.isLoginPage(
          status: 302, contentType: nil, location: location, host: "[::1]") == isPortal)
    }
  }

  @Test func `the limits of the check have a floor`() {
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
