import Glibc

/// A command of the shell whose output is read.
///
/// Foundation's `Process` hands descriptors of one child to the next and then waits for both, which
/// ties tests that run side by side to each other; `popen` does not.
@safe final class Child {
  private var output: UnsafeMutablePointer<FILE>?

  init(_ command: String) throws {
    unsafe output = popen("exec 2>&1; \(command)", "re")
    guard unsafe output != nil else { throw ChildFailure(text: "\(command): errno \(errno)") }
  }

  /// The next line without its end; `nil` when there is no more.
  func line() -> String? {
    var buffer: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { unsafe free(buffer) }
    guard unsafe getline(&buffer, &capacity, output) > 0, let text = unsafe buffer else {
      return nil
    }
    return unsafe String(cString: text).filter { !$0.isNewline }
  }

  /// Waits for the end and answers with the exit status.
  @discardableResult func wait() -> Int32 {
    guard let open = unsafe output else { return -1 }
    unsafe output = nil
    return unsafe pclose(open)
  }

  deinit {
    wait()
  }
}

struct ChildFailure: Error {
  var text: String
}
