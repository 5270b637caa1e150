// The WSDL and the XML Schema name every operation that SOAP offers, and a change that would break a generated client is found.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOffered, OPERATIONS } from '../operations.ts';
import { soapBreaks } from './breaks.ts';
import { soapOperations } from './form.ts';
import { soapWsdl } from './wsdl.ts';
import { soapXsd } from './xsd.ts';

test('every operation that SOAP offers is there, and no other', () => {
  const offered = OPERATIONS.filter((each) => isOffered(each, 'soap')).map(({ name }) => name);
  assert.deepEqual(
    soapOperations().map(({ operation }) => operation.name),
    offered,
  );
  const [wsdl, xsd] = [soapWsdl(), soapXsd()];
  for (const { name, action } of soapOperations()) {
    for (const part of [`<wsdl:message name="${name}">`, `soapAction="${action}"`])
      assert.ok(wsdl.includes(part), part);
    for (const part of [`<xs:element name="${name}">`, `<xs:element name="${name}Response">`])
      assert.ok(xsd.includes(part), part);
  }
});

test('the address is where the service says that it is', () => {
  const wsdl = soapWsdl('https://audit.acme.test/a&b');
  assert.equal(wsdl.match(/location="https:\/\/audit\.acme\.test\/a&amp;b\/soap\/v1"/g)?.length, 2);
});

test('what a generated client would trip over is found', () => {
  const [xsd, wsdl] = [soapXsd(), soapWsdl()];
  const changed = (text: string, from: string, to: string) => {
    assert.ok(text.includes(from), from);
    return soapBreaks(text, text.replace(from, to)).length > 0;
  };
  const element = '<xs:element name="leafIndex" type="xs:long"';
  assert.ok(changed(xsd, element, '<xs:element name="leafIndex" type="xs:int"'));
  assert.ok(changed(xsd, element, '<xs:element name="leaf" type="xs:long"'));
  assert.ok(
    changed(
      xsd,
      '<xs:element name="treeSize" type="xs:long"',
      '<xs:element name="treeSize" type="xs:long" nillable="true"',
    ),
  );
  assert.ok(changed(xsd, 'targetNamespace="urn:tallystick:v1"', 'targetNamespace="urn:tallystick"'));
  assert.ok(changed(xsd, `${element}/>`, `<xs:element name="new" type="xs:int"/>\n${element}/>`));
  assert.ok(
    !changed(xsd, `${element}/>`, `<xs:element name="new" type="xs:int" minOccurs="0"/>\n${element}/>`),
  );
  assert.ok(!changed(xsd, 'Entries in the tree.', 'Entries that the tree has.'));
  assert.ok(changed(wsdl, 'soapAction="urn:tallystick:v1/EventsGet"', 'soapAction=""'));
  assert.ok(changed(wsdl, '<wsdl:part name="parameters" element="t:EventsGet"/>', ''));
});
