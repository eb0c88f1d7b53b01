import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON
import HoldfastLinkTrace

/// A page that shows journals.
struct JournalPicture {
  private let file: PrivateOutput
  /// The paths of the journals, each file once. The first part of a run is shown with its second part.
  private let journals: [String]
  /// All files that are read: the given ones, and the first parts of their runs.
  private let files: [String]

  init(file: String, journals: [String]) {
    self.file = PrivateOutput(file, option: "--html")
    files = journals.flatMap { [$0, "\($0).1"] }
    let given = Set(journals.compactMap { FileIdentity(of: $0) })
    var seen: Set<FileIdentity> = []
    self.journals = journals.filter { path in
      if let file = FileIdentity(of: path), !seen.insert(file).inserted { return false }
      guard path.hasSuffix(".1"), let second = FileIdentity(of: String(path.dropLast(2)))
      else { return true }
      return !given.contains(second)
    }
  }

  /// Throws an error if the page cannot be written, or if a journal cannot be shown.
  func check() throws(CommandFailure) {
    try file.check(isNoneOf: files)
    for path in journals { _ = try trace(of: path) }
  }

  /// Writes the page. Only its owner can read it, as is true of a journal.
  func write(_ call: Invocation) throws(CommandFailure) {
    let traces = try traces(call)
    try file.write(PictureFile.bytes(of: traces.map(\.text)))
    call.put("wrote \(file.path)", event: "drawn") {
      $0.entry("file", file.path)
      $0.entry("links", traces.map(\.header.name))
    }
  }

  /// Returns the traces that contain facts. The runs of a link are in order of time.
  private func traces(_ call: Invocation) throws(CommandFailure) -> [JournalTrace] {
    var traces: [JournalTrace] = []
    for link in Self.links(journals) {
      var runs: [JournalTrace] = []
      for path in link {
        let draw = try trace(of: path)
        let name = Self.name(of: path)
        let run = try JournaledMachine.reading { () throws(JournalError) in try draw(path, name) }
        if run.facts.isEmpty {
          call.diagnostic("\(path) contains no steps, and is left out of the picture")
        } else {
          runs.append(run)
        }
      }
      runs.sort { $0.header.startedAt < $1.header.startedAt }
      traces += Self.numbered(runs)
    }
    guard !traces.isEmpty else {
      throw CommandFailure(
        .failed, "no journal contains a step, so there is nothing to show",
        remedy: "give a journal of a link that was used")
    }
    return traces
  }

  private static func numbered(_ runs: [JournalTrace]) -> [JournalTrace] {
    guard runs.count > 1 else { return runs }
    return runs.enumerated().map { index, run in
      var run = run
      run.header.run = index + 1
      run.header.name += ", run \(index + 1)"
      return run
    }
  }

  private func trace(of path: String) throws(CommandFailure) -> (
    (String, String) throws(JournalError) -> JournalTrace
  ) {
    let machine = try JournaledMachine.reading { () throws(JournalError) in
      try JournaledMachine(of: path)
    }
    guard let trace = machine.trace else {
      let drawn = JournaledMachine.all.filter { $0.trace != nil }.map(\.name)
      throw CommandFailure(
        .usage, "\(path) is a journal of \(machine.name), which has no picture",
        remedy: "leave it out; --html shows \(drawn.joined(separator: ", "))")
    }
    return trace
  }

  /// Returns the journals of each link: those whose paths differ only in the number of an earlier
  /// run, as in `a.journal.old1` and `a.journal`.
  private static func links(_ journals: [String]) -> [[String]] {
    var links: [(base: String, paths: [String])] = []
    for path in journals {
      let base = path.replacing(#/\.old[0-9]+$/#, with: "")
      if let index = links.firstIndex(where: { $0.base == base }) {
        links[index].paths.append(path)
      } else {
        links.append((base, [path]))
      }
    }
    return links.map(\.paths)
  }

  /// Returns the name of a file without its extensions.
  private static func name(of path: String) -> String {
    let file = path.split(separator: "/").last ?? ""
    return file.split(separator: ".").first.map(String.init) ?? path
  }
}
