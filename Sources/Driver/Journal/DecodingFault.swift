/// The words for JSON that does not decode.
package enum DecodingFault {
  /// Returns the problem of a line or a file without the names of Swift's types.
  package static func words(for error: any Error, in whole: String = "the line") -> String {
    switch error as? DecodingError {
    case .dataCorrupted(let context)? where context.codingPath.isEmpty: return "it is no JSON"
    case .dataCorrupted(let context)?: return "\(place(context, in: whole)) cannot be so"
    case .keyNotFound(let key, let context)?: return "\(place(context, key, in: whole)) is missing"
    case .typeMismatch(_, let context)?: return "\(place(context, in: whole)) is of another type"
    case .valueNotFound(_, let context)?: return "\(place(context, in: whole)) is null"
    case _: return "it holds what cannot be"
    }
  }

  /// Returns a path such as `input.send._0[2]`; the whole has no name.
  package static func place(
    _ context: DecodingError.Context, _ last: (any CodingKey)? = nil, in whole: String
  ) -> String {
    let path = context.codingPath + [last].compactMap(\.self)
    let names = path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
    let text = names.joined()
    return text.isEmpty ? whole : text.hasPrefix(".") ? String(text.dropFirst()) : text
  }
}
