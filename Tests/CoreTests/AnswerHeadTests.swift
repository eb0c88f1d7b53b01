import HoldfastCore
import Testing

/// Tests of the origin of a response and the target of its redirect.
@Suite struct AnswerHeadTests {
  private static func head(
    _ status: Int, _ type: String? = nil, _ location: String? = nil
  ) -> AnswerHead { AnswerHead(status: status, contentType: type, location: location) }

  @Test(
    arguments: [
      (200, "application/json", nil, false), (200, "text/plain", nil, false),
      (200, nil, nil, false), (204, " text/html", nil, false), (299, "TEXT/HTML", nil, true),
      (200, "text/html; charset=utf-8", nil, true), (511, nil, nil, true),
      (302, nil, "http://login.example/", true), (302, nil, "https://LOGIN.example?to=x", true),
      (307, nil, "//login.example/", true), (302, nil, "http://me@login.example:80", true),
      (301, nil, "https://server.example/healthz", false),
      (301, nil, "https://SERVER.example:8443/healthz", false),
      (302, nil, "/login?to=//login.example", false), (302, nil, nil, false),
      (302, nil, "/login?to=https://login.example/", false), (304, nil, "//login.example/", false),
      (404, "text/html", nil, false), (400, "text/plain", nil, false), (503, nil, nil, false),
    ] as [(Int, String?, String?, Bool)])
  func `a redirect to another host, an HTML page and status 511 count as login pages`(
    status: Int, type: String?, location: String?, isPortal: Bool
  ) {
    let head = Self.head(status, type, location)
    for url in ["http://server.example/healthz", "ws://SERVER.example:8787/session?a=b"] {
      #expect(head.isLoginPage(from: url) == isPortal, "\(url)")
    }
    // Over TLS, the certificate identifies the server. Localhost is reached without a network.
    for url in [
      "https://server.example/", "WSS://server.example/", "ws://localhost:1/", "http://127.0.0.2/",
      "ws://[::1]/", "no URL",
    ] {
      #expect(!head.isLoginPage(from: url), "\(url)")
    }
  }

  @Test func `a redirect from an IPv6 address is a login page only if it leads to another one`() {
    for (location, isPortal) in [("http://[2001:db8::1]:80/a", false), ("http://[::2]/", true)] {
      let head = Self.head(302, nil, location)
      #expect(head.isLoginPage(from: "http://[2001:DB8::1]/") == isPortal)
    }
  }

  @Test(
    arguments: [
      (308, "/ws/", "/ws/"),
      (301, "https://a.example/b?token=c#d", "https://a.example/b"),
      (302, "//me:secret@a.example:1/@b", "//a.example:1/@b"), (303, "?token=a", ""),
      (307, "https://me@a.example?b@c", "https://a.example"), (300, "ws/@me", "ws/@me"),
    ] as [(Int, String, String)])
  func `the description of a redirect omits user, query and fragment`(
    status: Int, location: String, expected: String
  ) {
    #expect(Self.head(status, nil, location).summary == "points to \(expected)")
    #expect(Self.head(status, nil, location).isForPeople)
  }

  @Test func `web pages and redirects are classified as responses for people`() {
    #expect(Self.head(200, "text/html").summary == "a web page")
    for head in [Self.head(304, nil, "/a"), Self.head(404, "text/html", "/a"), Self.head(101)] {
      #expect(head.summary == nil)
      #expect(!head.isForPeople)
    }
    #expect(Self.head(302).summary == nil)
    #expect(Self.head(302).isForPeople)
    for (status, isElsewhere) in [
      (199, false), (200, true), (308, true), (399, true), (400, false),
    ] {
      let failure = LinkFailure.http(status: status, retryAfter: nil, detail: "")
      #expect(failure.isElsewhere == isElsewhere)
    }
    #expect(!LinkFailure.captivePortal.isElsewhere)
  }
}
