// A stand-in that differs from the headers: in an optional type, in a class that is sendable, in a
// structure that is a class, in a method that every delegate must have, and in one that the headers lack.
import Foundation

open class CBPeripheral: NSObject, @unchecked Sendable {
  public var name: String { "" }
  public func setNotify(_ enabled: Bool) {}
  @_spi(Script) public func script() {}
}

open class CBCentralManager: NSObject {}

public struct CBUUID {}

public protocol CBCentralManagerDelegate: NSObjectProtocol {
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral)
}
