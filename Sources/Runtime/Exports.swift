// The ports of the features use the driver and its ports, so importing them also imports those.
@_exported public import LinkDriver
