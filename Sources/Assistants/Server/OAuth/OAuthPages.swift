import HoldfastPages

/// The documents of the sign-in with OAuth, from the templates in `Web/oauth`.
package enum OAuthPages {
  /// The content of the only `style` element of each page. The content security policy has its
  /// hash.
  package static let style = content(of: "style", in: Page.done.text)

  /// Returns a page in UTF-8. All values are escaped.
  package static func html(_ page: OAuthPage) -> [UInt8] {
    switch page {
    case .signIn(let client, let host, let site, let age, let error, let fields):
      signIn(client, host, site, age, error, fields)
    case .failed(let title, let sentence):
      Page.failed.bytes(with: ["title": escaped(title), "sentence": escaped(sentence)])
    case .done:
      Page.done.bytes
    }
  }

  private static func signIn(
    _ client: String, _ host: String, _ site: String?, _ age: Duration?, _ error: String?,
    _ fields: [OAuthField]
  ) -> [UInt8] {
    let hidden = fields.map {
      #"<input type="hidden" name="\#(escaped($0.name))" value="\#(escaped($0.value))">"#
    }
    let described = site.map {
      "<dt>It is described at</dt>\n<dd id=\"site\"><bdi>\(escaped($0))</bdi></dd>"
    }
    return Page.signIn.bytes(with: [
      "mark": error == nil ? "" : "Error: ", "advice": advice(age), "client": escaped(client),
      "site": described ?? "", "host": escaped(host), "error": escaped(error ?? ""),
      "fields": hidden.joined(separator: "\n"), "invalid": error == nil ? "false" : "true",
    ])
  }

  /// Returns when a person may continue. A link can be sent to somebody else.
  private static func advice(_ linkAge: Duration?) -> String {
    guard let linkAge else { return "Continue only if you started this yourself, in this app:" }
    let minutes = linkAge.components.seconds / 60
    let time = minutes < 1 ? "less than a minute" : minutes == 1 ? "a minute" : "\(minutes) minutes"
    return "Continue only if you asked your assistant yourself, \(time) ago, and never with a link "
      + "that somebody sent you:"
  }

  /// Returns the text of the first element with a name. Its start tag has no attributes.
  private static func content(of element: String, in text: String) -> String {
    guard let start = text.firstRange(of: "<\(element)>"),
      let end = text[start.upperBound...].firstRange(of: "</\(element)>")
    else { return "" }
    return String(text[start.upperBound..<end.lowerBound])
  }

  /// Returns a text as the content of an element or of a quoted attribute.
  private static func escaped(_ text: String) -> String {
    var found = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": found += "&amp;"
      case "<": found += "&lt;"
      case ">": found += "&gt;"
      case "\"": found += "&quot;"
      case "'": found += "&#39;"
      case _: found.unicodeScalars.append(character)
      }
    }
    return found
  }
}
