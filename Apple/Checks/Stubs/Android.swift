// The parts of the module Android (Bionic) that the checks use: C functions, and additions of its
// overlay.
@_exported public import POSIX

public var errno: Int32 {
  get { 0 }
  set {}
}
public var S_IFMT: mode_t { 0 }
public var S_IFREG: mode_t { 0 }
public var S_IFDIR: mode_t { 0 }
public var S_IFLNK: mode_t { 0 }
public var S_IFIFO: mode_t { 0 }
public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { 0 }
public func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 { 0 }
public func fcntl(_ descriptor: Int32, _ command: Int32) -> Int32 { 0 }
public func fcntl(_ descriptor: Int32, _ command: Int32, _ value: Int32) -> Int32 { 0 }
