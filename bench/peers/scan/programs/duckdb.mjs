// Runs a query and prints its rows and its time: node duckdb.mjs THREADS QUERY [VIEW]. The statement VIEW is run before.
import { DuckDBInstance } from '@duckdb/node-api'

const [threads, query, view] = process.argv.slice(2)
const instance = await DuckDBInstance.create(':memory:', { threads })
const connection = await instance.connect()
if (view) await connection.run(view)
const began = performance.now()
const rows = (await connection.runAndReadAll(query)).getRowsJson()
console.log(JSON.stringify({ Seconds: (performance.now() - began) / 1000, Rows: rows }))
