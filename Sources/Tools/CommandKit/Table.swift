/// A table of text in aligned columns.
public struct Table: Sendable {
  private let headings: [String]
  private var rows: [[String]] = []

  /// Creates an empty table with the given headings.
  public init(_ headings: String...) { self.init(headings) }

  /// Creates an empty table with the given headings.
  public init(_ headings: [String]) {
    self.headings = headings
  }

  /// Adds a row. Missing cells are empty. Characters that could control a terminal are escaped.
  public mutating func row(_ cells: String...) { row(cells) }

  /// Adds a row. Missing cells are empty. Characters that could control a terminal are escaped.
  public mutating func row(_ cells: [String]) {
    rows.append(cells.map(\.printable))
  }

  /// Returns the lines of the table. Columns are two spaces apart, and lines have no trailing
  /// spaces.
  public func lines(_ style: Style) -> [String] {
    let all = [headings] + rows
    let widths = headings.indices.map { column in
      all.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
    return all.enumerated().map { index, cells in
      let padded = zip(cells, widths).map { cell, width in
        cell + String(repeating: " ", count: max(0, width - cell.count))
      }
      let line = padded.joined(separator: "  ")
      let end = line.lastIndex { $0 != " " }.map { line.index(after: $0) } ?? line.startIndex
      return index == 0 ? style.heading(String(line[..<end])) : String(line[..<end])
    }
  }
}

/// A style of terminal text, with colors (ECMA-48 section 8.3.117) or without.
public struct Style: Sendable, Hashable {
  private let isColourful: Bool

  /// Creates a style with or without colors.
  public init(isColourful: Bool) {
    self.isColourful = isColourful
  }

  /// Returns text in the style of a heading, which is bold.
  public func heading(_ text: String) -> String { mark(text, "1") }

  /// Returns text in the style of an alarm, which is red.
  public func alarm(_ text: String) -> String { mark(text, "31") }

  private func mark(_ text: String, _ code: String) -> String {
    isColourful ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
