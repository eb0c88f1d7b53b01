import CommandKit
import HoldfastBackend

extension BackendConfiguration.Database {
  /// Reads `PATH.sqlite`, `sqlite:PATH.sqlite` or `sqlite:///PATH.sqlite` for `--database`.
  static func read(_ url: String) throws(CommandFailure) -> Self {
    var path = url[...]
    if let scheme = url.firstRange(of: ":")?.lowerBound, !url[..<scheme].contains("/") {
      guard url[..<scheme] == "sqlite" else {
        throw CommandFailure(
          .usage, "--database does not support \(url[..<scheme])",
          remedy: "this version supports only SQLite: use PATH.sqlite")
      }
      path = url[scheme...].dropFirst()
      if path.hasPrefix("//") { path = path.dropFirst(2) }
    }
    let slash = path.lastIndex(of: "/")
    let file = slash.map { path[path.index(after: $0)...] } ?? path
    guard file.hasSuffix(".sqlite"), file != ".sqlite" else {
      throw CommandFailure(
        .usage, "--database needs a file name that ends with .sqlite",
        remedy: "such as sqlite:/srv/holdfast/messages.sqlite")
    }
    let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    return Self(directory: directory, name: String(file.dropLast(7)))
  }
}
