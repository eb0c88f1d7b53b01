// fails: risks causing data races
import CoreBluetooth

actor Holder {
  private var peripheral: CBPeripheral?

  func keep(_ peripheral: CBPeripheral) { self.peripheral = peripheral }
}

/// Uses a peripheral after it was sent to an actor. The type checker accepts this.
func share(_ peripheral: CBPeripheral, with holder: Holder) async {
  await holder.keep(peripheral)
  peripheral.discoverServices(nil)
}
