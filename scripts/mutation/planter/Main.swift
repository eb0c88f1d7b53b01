import Foundation

/// Reads `{"root", "copy", "files", "dropped"}` from standard input, writes the planted files below
/// `copy`, and prints what was planted as JSON.
@main
struct Main {
  struct Request: Decodable {
    /// The folder to which the paths are relative.
    var root: String
    /// The folder that receives the planted files, at the same relative paths.
    var copy: String
    var files: [String]
    var dropped: [String]
  }

  /// A mutant as reported to the caller: its description, and its place in the copy.
  struct Row: Encodable {
    var number: Int
    var key: String
    var kind: String
    var file: String
    var line: Int
    var scope: String
    var before: String
    var after: String
    var isOnce: Bool
    var isPlanted: Bool
    /// The line and column of its start and its end in the copy, counted from 1.
    var place: [Int]
  }

  static func main() throws {
    let request = try JSONDecoder().decode(
      Request.self, from: FileHandle.standardInput.readDataToEndOfFile())
    let dropped = Set(request.dropped)
    var rows: [Row] = []
    var number = 1
    for file in request.files {
      let source = Array(try Data(contentsOf: URL(fileURLWithPath: "\(request.root)/\(file)")))
      let planter = Planter(file: file, source: source, first: number, dropped: dropped)
      number = planter.end
      let (text, places) = planter.planted()
      try write(Data(text), to: URL(fileURLWithPath: "\(request.copy)/\(file)"))
      let columns = Columns(text)
      for site in planter.sites {
        let place =
          columns[places[site.range.lowerBound]] + columns[places[site.range.upperBound]]
        rows.append(Row(site.number, site.mutant, site.isPlanted, place))
      }
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    FileHandle.standardOutput.write(try encoder.encode(rows))
  }

  /// Writes a file unless it has this content, so that it is not compiled again.
  private static func write(_ data: Data, to file: URL) throws {
    if let old = try? Data(contentsOf: file), old == data { return }
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: file)
  }
}

extension Main.Row {
  init(_ number: Int, _ mutant: Mutant, _ isPlanted: Bool, _ place: [Int]) {
    self.init(
      number: number, key: mutant.key, kind: mutant.kind.rawValue, file: mutant.file,
      line: mutant.line, scope: mutant.scope, before: mutant.before, after: mutant.after,
      isOnce: mutant.isOnce, isPlanted: isPlanted, place: place)
  }
}

/// The line and column of each byte of a text, counted from 1 as compilers do.
struct Columns {
  private var places: [[Int]] = []

  init(_ text: [UInt8]) {
    var (line, column) = (1, 1)
    for byte in text {
      places.append([line, column])
      column += 1
      if byte == UInt8(ascii: "\n") { (line, column) = (line + 1, 1) }
    }
    places.append([line, column])
  }

  subscript(_ offset: Int) -> [Int] { places[offset] }
}
