extension String {
  /// This text with controls, line breaks and direction marks escaped, so that it cannot
  /// control a terminal.
  public var printable: String {
    guard unicodeScalars.contains(where: Self.isUnsafe) else { return self }
    return unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where Self.isUnsafe(scalar):
        result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      case _: result.unicodeScalars.append(scalar)
      }
    }
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
      // Joiners are parts of words and emoji.
      scalar.value != 0x200D && scalar.value != 0x200C
    case _: false
    }
  }
}
