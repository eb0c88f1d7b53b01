import CHoldfastPages

/// A page of `Web`, with its style and its script, as `scripts/web` joined it.
package enum Page: Sendable, CaseIterable {
  /// The charts of an answer, in a client of MCP.
  case charts
  /// A person's health data.
  case dashboard
  /// The end of a sign-in with OAuth.
  case done
  /// The error of a sign-in with OAuth.
  case failed
  /// The page at the address of a backend.
  case home
  /// Traces of links.
  case picture
  /// The form of a sign-in with OAuth.
  case signIn

  /// The page in UTF-8, with its placeholders.
  package var bytes: [UInt8] {
    let page = unsafe embedded
    return unsafe [UInt8](UnsafeBufferPointer(start: page.bytes, count: page.count))
  }

  /// The text of the page, with its placeholders.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Returns the page in UTF-8 with values in place of its placeholders.
  ///
  /// - Parameter values: The value of each placeholder, by its name. Values are inserted unchanged;
  ///   the caller escapes them.
  package func bytes(with values: [String: String]) -> [UInt8] {
    do {
      return try Placeholders.replaced(in: bytes, with: values)
    } catch {
      // Pages and their callers are parts of this package, and a test fills each page.
      preconditionFailure("the page \(self): \(error)")
    }
  }

  private var embedded: holdfast_page {
    switch self {
    case .charts: unsafe holdfast_charts()
    case .dashboard: unsafe holdfast_dashboard()
    case .done: unsafe holdfast_done()
    case .failed: unsafe holdfast_failed()
    case .home: unsafe holdfast_home()
    case .picture: unsafe holdfast_picture()
    case .signIn: unsafe holdfast_sign_in()
    }
  }
}
