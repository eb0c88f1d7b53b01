package import HoldfastPages

/// A page for browsers, with its content security policy.
public struct WebPage: Sendable {
  /// The page in UTF-8.
  public let bytes: [UInt8]
  /// The Content-Security-Policy (CSP level 3).
  package let policy: String

  /// Creates a page without placeholders.
  ///
  /// - Parameter sources: The directives that list what the page may load and run in addition to
  ///   its own style. No page may be framed, submit a form, or change its base address.
  package init(_ page: Page, sources: [String] = []) {
    bytes = page.bytes
    let directives =
      ["default-src 'none'", "style-src 'unsafe-inline'"] + sources
      + ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
    policy = directives.joined(separator: "; ")
  }

  /// All header fields except the length. They make a browser request the page again each time.
  public var headers: [(String, String)] {
    [
      ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-cache"),
      ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
      ("Referrer-Policy", "no-referrer"),
    ]
  }

  /// The header fields of a page with a form that is sent to the page's own address, except the
  /// length and the caching.
  public static let formHeaders = [
    ("Content-Type", "text/html; charset=utf-8"),
    (
      "Content-Security-Policy",
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; "
        + "frame-ancestors 'none'"
    ),
    // With `no-referrer` the form would name the origin `null` (Fetch section 3.2).
    ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "same-origin"),
  ]

  /// The page of `GET /`, which people see when they open the address of a backend in a browser.
  ///
  /// The page loads no resources and runs no script.
  public static let home = WebPage(.home)
}
