/// A page of the sign-in with OAuth, as its values. `OAuthPages.html` makes the document.
package enum OAuthPage: Sendable, Hashable {
  /// The form that asks for the word and the code on the phone.
  ///
  /// It is posted to `/oauth/authorize` (`application/x-www-form-urlencoded`) with the hidden
  /// fields, `word` and `code`. A button with the name `deny` refuses the sign-in.
  ///
  /// - Parameters:
  ///   - clientName: The name that the client gave itself. It is not verified.
  ///   - redirectHost: The host to which the browser is sent afterwards.
  ///   - documentHost: The host that serves the client's metadata document; `nil` for a client that
  ///     registered.
  ///   - linkAge: The time since the client asked for a link to the page; `nil` if the client opened
  ///     the page by itself.
  ///   - error: What was wrong with the last try; `nil` at first.
  ///   - fields: The names and values of the hidden fields.
  case signIn(
    clientName: String, redirectHost: String, documentHost: String? = nil,
    linkAge: Duration? = nil, error: String?, fields: [OAuthField])
  /// The request cannot be answered, and no client may be redirected to.
  case failed(title: String, sentence: String)
  /// The sign-in is complete, and the browser is sent nowhere.
  case done
}

/// A name and a value: a field of a form, of a query or of a response's head.
package struct OAuthField: Sendable, Hashable, Codable {
  /// The name of the field.
  package var name: String
  /// The value of the field, decoded.
  package var value: String

  /// Creates a field.
  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}
