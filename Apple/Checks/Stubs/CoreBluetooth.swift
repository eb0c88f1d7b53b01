// The parts of Apple's module CoreBluetooth that the checks use. Each declaration is copied from
// its page below https://developer.apple.com/documentation/corebluetooth
@_exported public import Foundation

public enum CBManagerState: Int, Sendable {
  case unknown, resetting, unsupported, unauthorized, poweredOff, poweredOn
}
public class CBPeripheral: NSObject {
  public var identifier: UUID { fatalError() }
}
open class CBManager: NSObject {
  public var state: CBManagerState { .unknown }
}
open class CBCentralManager: CBManager {
  public init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil
  ) {}
  open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {}
  open func cancelPeripheralConnection(_ peripheral: CBPeripheral) {}
}
@objc public protocol CBCentralManagerDelegate: NSObjectProtocol {
  @objc func centralManagerDidUpdateState(_ central: CBCentralManager)
  @objc optional func centralManager(
    _ central: CBCentralManager, willRestoreState dict: [String: Any])
  @objc(centralManager:didConnectPeripheral:) optional func centralManager(
    _ central: CBCentralManager, didConnect peripheral: CBPeripheral)
  @objc(centralManager:didFailToConnectPeripheral:error:) optional func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?)
}
