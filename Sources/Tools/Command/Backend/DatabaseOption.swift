import CommandKit
import HoldfastBackend

extension BackendConfiguration.Database {
  /// Takes `PATH.sqlite`, `sqlite:PATH.sqlite` and `sqlite:///PATH.sqlite`, as `--database` does.
  static func read(_ url: String) throws(CommandFailure) -> Self {
    var path = url[...]
    if let scheme = url.firstRange(of: ":")?.lowerBound, !url[..<scheme].contains("/") {
      guard url[..<scheme] == "sqlite" else {
        throw CommandFailure(
          .usage, "--database cannot be a \(url[..<scheme]) database",
          remedy: "this version keeps messages in SQLite only: give PATH.sqlite")
      }
      path = url[scheme...].dropFirst()
      if path.hasPrefix("//") { path = path.dropFirst(2) }
    }
    let slash = path.lastIndex(of: "/")
    let file = slash.map { path[path.index(after: $0)...] } ?? path
    guard file.hasSuffix(".sqlite"), file != ".sqlite" else {
      throw CommandFailure(
        .usage, "--database must name a file that ends with .sqlite",
        remedy: "such as sqlite:/srv/holdfast/messages.sqlite")
    }
    let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    return Self(directory: directory, name: String(file.dropLast(7)))
  }
}
