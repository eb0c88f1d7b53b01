/// The secrets in this process's arguments, which other users can see in process lists.
struct ArgumentSecrets {
  /// The options whose values are secret, such as `--token`.
  let options: [String]

  /// Creates the list of the secret options of all commands below `root`.
  init(of root: CommandPath) {
    let secrets = root.tree.flatMap(\.command.parameters).filter(\.isSecret)
    options = Set(secrets.map(\.label)).sorted()
  }

  /// Overwrites the secret values in the memory from which the system shows this process's
  /// arguments.
  ///
  /// Swift's own copies of these values remain.
  func hide() {
    guard let area = unsafe Self.argumentArea() else { return }
    unsafe hide(in: area)
  }

  /// Returns the memory of this process's arguments, using fields 48 and 49 of proc_pid_stat(5).
  private static func argumentArea() -> UnsafeMutableRawBufferPointer? {
    guard let stat = try? TextFile.read("/proc/self/stat") else { return nil }
    // The second field is the program's name in parentheses, which may contain any character.
    let fields = String(decoding: stat, as: UTF8.self).split(separator: ")").last?
      .split(separator: " ")
    guard let fields, fields.count > 46, let start = UInt(fields[45]),
      let end = UInt(fields[46]), start > 0, start < end, end - start < 64 << 20
    else { return nil }
    return unsafe UnsafeMutableRawBufferPointer(
      start: UnsafeMutableRawPointer(bitPattern: start), count: Int(end - start))
  }

  private func hide(in area: UnsafeMutableRawBufferPointer) {
    var before = ""
    var start = 0
    while start < area.count {
      var end = start
      while end < area.count, unsafe area[end] != 0 { end += 1 }
      let argument = unsafe UnsafeMutableRawBufferPointer(rebasing: area[start..<end])
      let text = unsafe String(decoding: argument, as: UTF8.self)
      unsafe hide(argument, after: before)
      before = text
      start = end + 1
    }
  }

  private func hide(_ argument: UnsafeMutableRawBufferPointer, after before: String) {
    let text = unsafe String(decoding: argument, as: UTF8.self)
    let attached = options.first { text.hasPrefix($0 + "=") }.map { $0.utf8.count + 1 }
    guard let first = options.contains(before) ? 0 : attached else { return }
    for index in first..<max(first, argument.count) { unsafe argument[index] = UInt8(ascii: "x") }
  }
}
